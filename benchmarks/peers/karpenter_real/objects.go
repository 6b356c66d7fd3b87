package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

const (
	classLabel = "benchmark.growth.dev/class"
	// familyLabel stands for the label by which a provider tells its families of machines apart.
	familyLabel = "benchmark.growth.dev/family"
	tainted     = "benchmark.growth.dev/reserved"
	// portResource begins the name of a resource of which every machine has one: a host port.
	portResource = "port-"
	firstPort    = 8000
	mebibyte     = 1 << 20
)

func init() {
	// A pod may select by a label that no pool sets only if Karpenter knows that its machines have it.
	v1.WellKnownLabels.Insert(familyLabel)
}

func quantity(name string, amount int64) resource.Quantity {
	switch name {
	case "cpu":
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case "memory", "ephemeral-storage":
		return *resource.NewQuantity(amount*mebibyte, resource.BinarySI)
	default:
		return *resource.NewQuantity(amount, resource.DecimalSI)
	}
}

// quantities leaves out host ports, which are no resources of a Node, and `without`.
func quantities(amounts map[string]int64, without string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, amount := range amounts {
		if !strings.HasPrefix(name, portResource) && name != without && amount != 0 {
			list[corev1.ResourceName(name)] = quantity(name, amount)
		}
	}
	return list
}

// instanceTypes returns the types by name, each with an offering for each zone.
func instanceTypes(problem *Problem) map[string]*cloudprovider.InstanceType {
	found := map[string]*cloudprovider.InstanceType{}
	for _, offering := range problem.Offerings {
		kind := found[offering.Type]
		if kind == nil {
			kind = &cloudprovider.InstanceType{
				Name:     offering.Type,
				Capacity: quantities(offering.Capacity, ""),
				Overhead: &cloudprovider.InstanceTypeOverhead{},
				Requirements: scheduling.NewRequirements(
					scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, offering.Type),
					scheduling.NewRequirement(corev1.LabelArchStable, corev1.NodeSelectorOpIn, offering.Architecture),
					scheduling.NewRequirement(corev1.LabelOSStable, corev1.NodeSelectorOpIn, string(corev1.Linux)),
					scheduling.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, v1.CapacityTypeOnDemand),
					scheduling.NewRequirement(familyLabel, corev1.NodeSelectorOpIn, offering.Family),
					scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn),
					// What a type lacks has to be said: left out, it would match any value.
					scheduling.NewRequirement(corev1.LabelTopologyRegion, corev1.NodeSelectorOpDoesNotExist),
					scheduling.NewRequirement(corev1.LabelWindowsBuild, corev1.NodeSelectorOpDoesNotExist),
				),
			}
			found[offering.Type] = kind
		}
		kind.Requirements.Get(corev1.LabelTopologyZone).Insert(offering.Zone)
		kind.Offerings = append(kind.Offerings, &cloudprovider.Offering{
			Available: true,
			Price:     float64(offering.Price) / 1e9,
			Requirements: scheduling.NewLabelRequirements(map[string]string{
				v1.CapacityTypeLabelKey:  v1.CapacityTypeOnDemand,
				corev1.LabelTopologyZone: offering.Zone,
			}),
		})
	}
	return found
}

// nodePool names its types, unless it has all that there are: then there is nothing to require.
func nodePool(pool Pool, hasAll bool) *v1.NodePool {
	made := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool.Name, UID: types.UID(pool.Name)}}
	made.Spec.Weight = &pool.Weight
	spec := &made.Spec.Template.Spec
	spec.NodeClassRef = &v1.NodeClassReference{Group: "benchmark.growth.dev", Kind: "NodeClass", Name: "default"}
	if !hasAll {
		spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{
			Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: pool.Types,
		}}
	}
	if pool.Tolerating != nil {
		spec.Taints = []corev1.Taint{{Key: tainted, Effect: corev1.TaintEffectNoSchedule}}
	}
	return made
}

// pods returns all pods of the problem, and the class of each by its uid. Their uids come from `random`.
func pods(problem *Problem, pools []Pool, random io.Reader) ([]*corev1.Pod, map[types.UID]int, error) {
	made := []*corev1.Pod{}
	classes := map[types.UID]int{}
	for index, class := range problem.Classes {
		template := podOf(index, class, zonesOf(problem))
		for _, pool := range pools {
			if slices.Contains(pool.Tolerating, index) {
				template.Spec.Tolerations = []corev1.Toleration{{Key: tainted, Operator: corev1.TolerationOpExists}}
			}
		}
		for number := range class.Count {
			uid, err := uuid.NewRandomFromReader(random)
			if err != nil {
				return nil, nil, err
			}
			pod := template.DeepCopy()
			pod.Name = fmt.Sprintf("class-%d-%d", index, number)
			pod.UID = types.UID(uid.String())
			classes[pod.UID] = index
			made = append(made, pod)
		}
	}
	return made, classes, nil
}

// zonesOf counts the zones of a problem in which classes are spread.
func zonesOf(problem *Problem) int32 {
	distinct := map[string]bool{}
	for _, zone := range problem.Zones {
		distinct[zone] = true
	}
	return int32(len(distinct))
}

func podOf(index int, class Class, zones int32) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Labels: map[string]string{classLabel: strconv.Itoa(index)},
	}}
	pod.Status.Phase = corev1.PodPending
	pod.Spec.NodeSelector = class.Selector
	// Karpenter itself counts one pod for each pod.
	container := corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Requests: quantities(class.Demand, "pods")}}
	for name, amount := range class.Demand {
		if port, isPort := strings.CutPrefix(name, portResource); isPort && amount != 0 {
			number, err := strconv.Atoi(port)
			if err != nil {
				panic(fmt.Sprintf("class %d: resource %q: a host port is a number", index, name))
			}
			container.Ports = append(container.Ports, corev1.ContainerPort{HostPort: int32(firstPort + number), ContainerPort: int32(firstPort + number)})
		}
	}
	pod.Spec.Containers = []corev1.Container{container}
	apart := slices.Clone(class.Apart)
	switch {
	case class.PerNode != nil && *class.PerNode == 1:
		apart = append(apart, index)
	case class.PerNode != nil:
		spread(pod, corev1.LabelHostname, *class.PerNode, nil)
	}
	if class.HostSkew != nil {
		spread(pod, corev1.LabelHostname, *class.HostSkew, nil)
	}
	if class.ZoneSkew != nil {
		spread(pod, corev1.LabelTopologyZone, *class.ZoneSkew, &zones)
	}
	if len(apart) > 0 {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: isOneOf(apart),
			}},
		}}
	}
	return pod
}

// spread adds a constraint that must hold over the pods of the class.
func spread(pod *corev1.Pod, key string, skew int32, minDomains *int32) {
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, MinDomains: minDomains,
		LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
	})
}

func isOneOf(classes []int) *metav1.LabelSelector {
	values := make([]string, 0, len(classes))
	for _, class := range classes {
		values = append(values, strconv.Itoa(class))
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: classLabel, Operator: metav1.LabelSelectorOpIn, Values: values,
	}}}
}
