package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// Problem is what benchmarks/problem_file.py writes; both sides read the same file.
type Problem struct {
	// Zones is the zone of each offering, where classes are spread.
	Zones     []string          `json:"zones"`
	Offerings []Offering        `json:"offerings"`
	Classes   []Class           `json:"classes"`
	SetUps    map[string][]Pool `json:"setUps"`
}

// Offering is a server type in a zone. Amounts are millicores, MiB or counts, by name of the resource.
type Offering struct {
	Type         string           `json:"type"`
	Zone         string           `json:"zone"`
	Architecture string           `json:"architecture"`
	Family       string           `json:"family"`
	Capacity     map[string]int64 `json:"capacity"`
	// Price is per hour, in billionths of the currency.
	Price int64 `json:"price"`
}

// Class is a number of pods that are alike.
type Class struct {
	Count  int              `json:"count"`
	Demand map[string]int64 `json:"demand"`
	// Selector is the pod's nodeSelector: with the pod's demand it leaves exactly the offerings that may hold it.
	Selector map[string]string `json:"selector"`
	// PerNode is how many may share a machine; nil: any number.
	PerNode *int32 `json:"perNode"`
	// Apart are other classes of which none may share a machine with it.
	Apart []int `json:"apart"`
	// ZoneSkew is maxSkew of a hard spread over all zones, HostSkew of one over host names; nil: there is none.
	ZoneSkew *int32 `json:"zoneSkew"`
	HostSkew *int32 `json:"hostSkew"`
}

// Pool is a NodePool.
type Pool struct {
	Name   string   `json:"name"`
	Weight int32    `json:"weight"`
	Types  []string `json:"types"`
	// Tolerating is nil for a pool without a taint; else the taint is tolerated by pods of these classes.
	Tolerating []int `json:"tolerating"`
}

// Answer is what the scheduler decided.
type Answer struct {
	Machines []Machine `json:"machines"`
	// IsCut says whether the minute was over before all pods were looked at.
	IsCut bool `json:"isCut"`
	// Seconds are those of Solve alone.
	Seconds float64 `json:"seconds"`
	// PeakBytes is the largest resident set of the process, 0 where the system does not tell.
	PeakBytes int64 `json:"peakBytes"`
	// Versions are those of Karpenter and of Go.
	Versions string `json:"versions"`
}

// Machine is a claim, as the cheapest offering that it still allows.
type Machine struct {
	Offering int         `json:"offering"`
	Counts   map[int]int `json:"counts"`
}

func readProblem(path string) (*Problem, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	problem := &Problem{}
	if err := json.Unmarshal(text, problem); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return problem, nil
}
