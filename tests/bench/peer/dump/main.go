// Writes pods of a crowd to the standard output, as the events of a watch.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strconv"

	"gpuqos.io/tests/bench/peer/crowd"
)

func run() error {
	var options crowd.Options
	flag.StringVar(&options.Folder, "recording", "", "folder of the recording")
	flag.IntVar(&options.Pods, "pods", 0, "how many pods")
	flag.IntVar(&options.Nodes, "nodes", 100, "how many nodes they are on")
	flag.IntVar(&options.Namespaces, "namespaces", 100, "how many namespaces they are in")
	flag.StringVar(&options.Kind, "kind", "", "all pods are of this kind")
	flag.Parse()

	c, err := crowd.New(options)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for i := range options.Pods {
		frame, err := c.PodFrame("ADDED", i, strconv.Itoa(1000+i))
		if err != nil {
			return err
		}
		if _, err := out.Write(frame); err != nil {
			return err
		}
	}
	return out.Flush()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dump:", err)
		os.Exit(1)
	}
}
