package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/open-policy-agent/frameworks/constraint/pkg/client"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	"github.com/open-policy-agent/frameworks/constraint/pkg/types"
	mutationtypes "github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
)

// audit reviews an object as Gatekeeper's audit does.
func audit(gatekeeper *client.Client, given object) (*types.Responses, error) {
	reviewed, err := unstructuredOf(given)
	if err != nil {
		return nil, err
	}
	input := target.AugmentedUnstructured{Object: *reviewed, Source: mutationtypes.SourceTypeOriginal}
	return gatekeeper.Review(context.Background(), input, reviews.EnforcementPoint(util.AuditEnforcementPoint))
}

// evaluate reviews the objects of a file, a line of JSON each, by the templates and constraints of another, as the audit does.
func evaluate(setup, objects string) error {
	gatekeeper, err := newClient(true)
	if err != nil {
		return err
	}
	err = eachLine(setup, func(given object) error {
		if given["kind"] == "ConstraintTemplate" {
			_, err := addTemplate(gatekeeper, given)
			return err
		}
		return addConstraint(gatekeeper, given)
	})
	if err != nil {
		return err
	}
	started, violations := time.Now(), 0
	err = eachLine(objects, func(given object) error {
		responses, err := audit(gatekeeper, given)
		if err != nil {
			return err
		}
		violations += len(responses.Results())
		return nil
	})
	if err != nil {
		return err
	}
	seconds := time.Since(started).Seconds()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	fmt.Printf("%d violations, %.2f s, CPU %.2f s, peak %d MiB\n", violations, seconds, cpu, used.Maxrss/1024)
	return nil
}

func eachLine(path string, do func(object) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var given object
			if err := json.Unmarshal([]byte(line), &given); err != nil {
				return err
			}
			if err := do(given); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}
