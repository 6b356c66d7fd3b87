// Gives a problem of the benchmark to Karpenter's own scheduler and prints the machines that it would launch.
//
//	karpenter PROBLEM SET-UP SEED
//
// One call is one repetition: everything is built anew. Karpenter decides ties between pods by their uids, which are
// random; SEED draws them.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"
)

// solveTimeout is Karpenter's own. Source: pkg/controllers/provisioning/provisioner.go, Schedule.
const solveTimeout = time.Minute

// oneWorker follows from the default request of 1,000 millicores for Karpenter. Source: as solveTimeout.
const oneWorker = 1

func main() {
	if len(os.Args) != 4 {
		fail(errors.New("usage: karpenter PROBLEM SET-UP SEED"))
	}
	log.SetLogger(logging.NopLogger)
	answer, err := run(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "karpenter: %v\n", err)
	os.Exit(1)
}

func run(path, setUp, seed string) (*Answer, error) {
	problem, err := readProblem(path)
	if err != nil {
		return nil, err
	}
	pools, ok := problem.SetUps[setUp]
	if !ok {
		return nil, fmt.Errorf("%s: no set-up %q", path, setUp)
	}
	number, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the seed must be a number of 0 or more: %w", err)
	}
	drawn := [32]byte{}
	binary.LittleEndian.PutUint64(drawn[:], number)
	made, classes, err := pods(problem, pools, rand.NewChaCha8(drawn))
	if err != nil {
		return nil, err
	}
	ctx, err := defaultContext()
	if err != nil {
		return nil, err
	}
	results, seconds, isCut, err := solve(ctx, problem, pools, made)
	if err != nil {
		return nil, err
	}
	machines, err := launched(problem, results, classes)
	if err != nil {
		return nil, err
	}
	return &Answer{
		Machines: machines, IsCut: isCut, Seconds: seconds,
		PeakBytes: peakBytes(), Versions: fmt.Sprintf("Karpenter %s on %s", version(), runtime.Version()),
	}, nil
}

// defaultContext holds the options that Karpenter has when no flag is given.
func defaultContext() (context.Context, error) {
	defaults := &options.Options{}
	flags := &options.FlagSet{FlagSet: flag.NewFlagSet("karpenter", flag.ContinueOnError)}
	defaults.AddFlags(flags)
	if err := defaults.Parse(flags); err != nil {
		return nil, err
	}
	return injection.WithControllerName(defaults.ToContext(context.Background()), "provisioner"), nil
}

func solve(ctx context.Context, problem *Problem, pools []Pool, made []*corev1.Pod) (scheduling.Results, float64, bool, error) {
	kinds := instanceTypes(problem)
	nodePools := []*v1.NodePool{}
	offered := map[string][]*cloudprovider.InstanceType{}
	for _, pool := range pools {
		nodePools = append(nodePools, nodePool(pool, len(pool.Types) == len(kinds)))
		for _, name := range pool.Types {
			offered[pool.Name] = append(offered[pool.Name], kinds[name])
		}
	}
	nodepool.OrderByWeight(nodePools)
	client, now := fake.NewClientBuilder().Build(), clock.RealClock{}
	cluster := state.NewCluster(now, client, nil)
	choices := []scheduling.Options{
		scheduling.DisableReservedCapacityFallback,
		scheduling.NumConcurrentReconciles(oneWorker),
		scheduling.MinValuesPolicy(options.FromContext(ctx).MinValuesPolicy),
	}
	topology, err := scheduling.NewTopology(ctx, client, cluster, nil, nodePools, offered, made, choices...)
	if err != nil {
		return scheduling.Results{}, 0, false, err
	}
	scheduler := scheduling.NewScheduler(
		ctx, client, nodePools, cluster, nil, topology, offered, nil,
		events.NewRecorder(&record.FakeRecorder{}), now, nil, nil, choices...,
	)
	limited, cancel := context.WithTimeout(ctx, solveTimeout)
	defer cancel()
	began := time.Now()
	results, err := scheduler.Solve(limited, made)
	seconds := time.Since(began).Seconds()
	isCut := errors.Is(err, context.DeadlineExceeded)
	if err != nil && !isCut {
		return scheduling.Results{}, 0, false, err
	}
	return results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes), seconds, isCut, nil
}

// launched returns each claim as the cheapest offering that is left for it, which is what a provider launches.
func launched(problem *Problem, results scheduling.Results, classes map[types.UID]int) ([]Machine, error) {
	index := map[[2]string]int{}
	for i, offering := range problem.Offerings {
		index[[2]string{offering.Type, offering.Zone}] = i
	}
	machines := []Machine{}
	for _, claim := range results.NewNodeClaims {
		cheapest, price := -1, 0.0
		for _, kind := range claim.InstanceTypeOptions {
			for _, offering := range kind.Offerings.Available().Compatible(claim.Requirements) {
				if cheapest < 0 || offering.Price < price {
					cheapest, price = index[[2]string{kind.Name, offering.Zone()}], offering.Price
				}
			}
		}
		if cheapest < 0 {
			return nil, fmt.Errorf("a claim of pool %s has no offering", claim.NodePoolName)
		}
		counts := map[int]int{}
		for _, pod := range claim.Pods {
			counts[classes[pod.UID]]++
		}
		machines = append(machines, Machine{Offering: cheapest, Counts: counts})
	}
	return machines, nil
}

// peakBytes reads the largest resident set of this program alone; what getrusage tells may be that of its parent.
func peakBytes() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kibibytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kibibytes << 10
		}
	}
	return 0
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == "sigs.k8s.io/karpenter" {
			return module.Version
		}
	}
	return ""
}
