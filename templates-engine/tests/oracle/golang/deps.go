package main

import (
	_ "github.com/Masterminds/semver/v3"
	_ "github.com/Masterminds/sprig/v3"
	_ "gopkg.in/yaml.v3"
	_ "sigs.k8s.io/yaml"
)
