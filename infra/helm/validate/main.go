// Command validate checks rendered Kubernetes manifests without a cluster: every document is decoded strictly into the type that
// its apiVersion and kind name, so that an unknown, doubled or mistyped field is a problem, and what types cannot say (names,
// labels, selectors, PromQL) is checked with Kubernetes' and Prometheus' own functions.
//
// usage: validate FILE...
//
// It prints a line for each problem and a last line of totals; it exits with 1 when there was a problem, with 2 when a file could
// not be read.
package main

import (
	"bytes"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: validate FILE...")
		os.Exit(2)
	}
	decode, err := newDecoder()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	manifests, problems := 0, 0
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		for _, document := range documents(text) {
			manifests++
			for _, problem := range check(decode, document) {
				problems++
				fmt.Printf("%s: %s\n", path, problem)
			}
		}
	}
	fmt.Printf("%d manifests, %d problems\n", manifests, problems)
	if problems > 0 {
		os.Exit(1)
	}
}

// documents splits a stream of YAML; what holds nothing but comments is left out.
func documents(text []byte) [][]byte {
	var found [][]byte
	for _, document := range bytes.Split(append([]byte("\n"), text...), []byte("\n---")) {
		for _, line := range bytes.Split(document, []byte("\n")) {
			line = bytes.TrimSpace(line)
			if len(line) > 0 && line[0] != '#' {
				found = append(found, document)
				break
			}
		}
	}
	return found
}

// check returns what is wrong with one manifest, each with the kind and name that it is about.
func check(decode func([]byte) (runtime.Object, error), document []byte) []string {
	object, err := decode(document)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", headOf(document), err)}
	}
	var problems []string
	for _, problem := range append(checkMeta(object), checkKind(object)...) {
		problems = append(problems, fmt.Sprintf("%s: %s", headOf(document), problem))
	}
	return problems
}
