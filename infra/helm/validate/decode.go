package main

import (
	"fmt"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// newDecoder knows the kinds of Kubernetes, of the Prometheus operator, and those of KEDA that our charts use.
func newDecoder() (func([]byte) (runtime.Object, error), error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, monitoring.AddToScheme, addKeda} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	options := json.SerializerOptions{Yaml: true, Strict: true}
	serializer := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, options)
	return func(document []byte) (runtime.Object, error) {
		object, _, err := serializer.Decode(document, nil, nil)
		return object, err
	}, nil
}

// headOf tells which manifest a problem is about, as far as it can be read.
func headOf(document []byte) string {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(document, &head); err != nil || head.Kind == "" {
		return "a manifest without a kind"
	}
	return fmt.Sprintf("%s %s", head.Kind, head.Metadata.Name)
}
