package main

import (
	"fmt"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkMeta checks what every object has.
func checkMeta(object runtime.Object) []string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return []string{err.Error()}
	}
	problems := prefixed("metadata.name", validation.IsDNS1123Subdomain(accessor.GetName()))
	return append(problems, texts(metavalidation.ValidateLabels(accessor.GetLabels(), field.NewPath("metadata", "labels")))...)
}

// checkKind checks what the type of a kind cannot say.
func checkKind(object runtime.Object) []string {
	switch object := object.(type) {
	case *apps.Deployment:
		problems := selects(object.Spec.Selector, object.Spec.Template.Labels)
		return append(problems, checkPod(object.Spec.Template.Spec)...)
	case *batch.Job:
		return checkPod(object.Spec.Template.Spec)
	case *core.Service:
		return checkService(object)
	case *policy.PodDisruptionBudget:
		return checkSelector(object.Spec.Selector, "spec.selector")
	case *networking.NetworkPolicy:
		return checkSelector(&object.Spec.PodSelector, "spec.podSelector")
	case *monitoring.ServiceMonitor:
		return checkSelector(&object.Spec.Selector, "spec.selector")
	case *monitoring.PrometheusRule:
		return checkRules(object)
	default:
		return nil
	}
}

func checkPod(spec core.PodSpec) []string {
	var problems []string
	for _, container := range append(spec.InitContainers, spec.Containers...) {
		at := "container " + container.Name
		problems = append(problems, prefixed(at+": name", validation.IsDNS1123Label(container.Name))...)
		if container.Image == "" {
			problems = append(problems, at+": has no image")
		}
		for _, variable := range container.Env {
			problems = append(problems, prefixed(at+": env "+variable.Name, validation.IsEnvVarName(variable.Name))...)
		}
		for _, port := range container.Ports {
			problems = append(problems, prefixed(at+": port "+port.Name, validation.IsValidPortName(port.Name))...)
		}
		for name, request := range container.Resources.Requests {
			if limit, ok := container.Resources.Limits[name]; ok && limit.Cmp(request) < 0 {
				problems = append(problems, fmt.Sprintf("%s: asks for more %s than its limit", at, name))
			}
		}
		problems = append(problems, checkProbes(container)...)
	}
	for _, constraint := range spec.TopologySpreadConstraints {
		problems = append(problems, checkSelector(constraint.LabelSelector, "topologySpreadConstraints")...)
	}
	return problems
}

func checkProbes(container core.Container) []string {
	names := map[string]bool{}
	for _, port := range container.Ports {
		names[port.Name] = true
	}
	var problems []string
	for _, probe := range []*core.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		if probe != nil && probe.HTTPGet != nil && !names[probe.HTTPGet.Port.StrVal] {
			problems = append(problems, fmt.Sprintf("a probe asks the port %q, which the container has not", probe.HTTPGet.Port.StrVal))
		}
	}
	return problems
}

func checkService(service *core.Service) []string {
	problems := prefixed("metadata.name", validation.IsDNS1035Label(service.Name))
	if len(service.Spec.Selector) == 0 {
		problems = append(problems, "spec.selector selects nothing")
	}
	return problems
}

// checkSelector wants a selector that is well formed and selects something in particular.
func checkSelector(selector *metav1.LabelSelector, at string) []string {
	path := field.NewPath(at)
	problems := texts(metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{}, path))
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		problems = append(problems, at+" is empty")
	}
	return problems
}

func selects(selector *metav1.LabelSelector, of map[string]string) []string {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return []string{err.Error()}
	}
	if parsed.Empty() || !parsed.Matches(labels.Set(of)) {
		return []string{"spec.selector does not select the pods of the template"}
	}
	return nil
}

func checkRules(rule *monitoring.PrometheusRule) []string {
	var problems []string
	promql := parser.NewParser(parser.Options{})
	for _, group := range rule.Spec.Groups {
		for _, alert := range group.Rules {
			if _, err := promql.ParseExpr(alert.Expr.String()); err != nil {
				problems = append(problems, fmt.Sprintf("%s: %v", alert.Alert, err))
			}
			if alert.For == nil {
				continue
			}
			if _, err := model.ParseDuration(string(*alert.For)); err != nil {
				problems = append(problems, fmt.Sprintf("%s: for: %v", alert.Alert, err))
			}
		}
	}
	return problems
}

func prefixed(at string, problems []string) []string {
	var found []string
	for _, problem := range problems {
		found = append(found, at+": "+problem)
	}
	return found
}

func texts(problems field.ErrorList) []string {
	var found []string
	for _, problem := range problems {
		found = append(found, problem.Error())
	}
	return found
}
