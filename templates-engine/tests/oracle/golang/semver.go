package main

import (
	"encoding/json"
	"os"

	"github.com/Masterminds/semver/v3"
)

var versionTexts = []string{
	"1.2.3", "v1.2.3", "1", "1.2", "0.0.0", "0.0.3", "0.1.0", "0.2.3", "0.2.9", "1.0.0", "1.1.0", "1.2.0", "1.2.4", "1.3.0", "1.9.9", "2.0.0", "2.3.1", "5.6.7", "11.1.1", "1.2.3-alpha", "1.2.3-alpha.1", "1.2.3-beta", "1.3.0-alpha", "2.0.0-0", "1.2.3-0", "1.2.3+meta", "1.2.3-rc.10", "1.2.3-rc.9", "0.0.0-a", "0.2.0-x", "1.2.0-alpha",
}

var constraintTexts = []string{
	"", "*", "x", "X", "1", "1.x", "1.2", "1.2.x", "1.2.3", "=1.2.3", "!=1.2.3", "!=1.2", "!=1", "!=*", "!=1.2.x", ">1", ">1.2", ">1.2.3", "<1", "<1.2", "<1.2.3", ">=1", ">=1.2", ">=1.2.3", "=>1.2", "<=1", "<=1.2", "<=1.2.3", "=<1.2", "~1", "~1.2", "~1.2.3", "~>1.2", "~>1.2.3", "^1", "^1.2", "^1.2.3", "^0", "^0.2", "^0.2.3", "^0.0", "^0.0.3", "^0.0.0", "~0.0.0", "~0", "~0.0", "~*", "^*", ">*", "<*", ">=*", "<=*", "=*",
	"1.2 - 2.3", "1.2.3 - 2.3.4", "1 - 2", ">=1.0, <2", ">1.0, <2 || 5.x", ">=1 <2", ">=1,<2", "1.2.3 || 2.0.0", "^1.2.0-0", "^1.2.3-alpha", ">=1.2.3-alpha", "<2.0.0-0", "~1.2.3-beta", "!=1.2.3-alpha", "=1.2.3-alpha", "1.2.3-alpha", ">1.2.3-rc.9", ">= 1.2.3", " >=1.2 ", "v1.2", ">=v1.2", "^^1", "foo", "1.2.3.4", ">", "||", "1||", "||1", "1 || ", ">=1 || <", "1,", ",1", "1,,2", "1.2-", "1.2.3+meta", ">=1.2.3+meta", "1|2", "1.2|3", "01.2", "1.02", "1.2.3-01", "99999999999999999999", "1.x.3", "x.1", "1.*", "*.*.*", "1.2.*", "1 2", "1.2.3 1.2.3", "1-2", "1 -2", "1- 2", "1.2 - 2.3 || 5", "1.2 - 2.3, !=2", "a1", "1a", "=", "= 1.2", "!= 1.2", "~ 1", "^ 1", "é", "1\n", "\t1", "1.2.3-", "1.2.3-a..b", "!=1.2.x-0", "!=1.2-0", "<=1-0", ">1-0", "^1-0", "~1-0", "=1.2-0", "*-0", ">=0-0", "<=1.2-0", "^0.0-0", "^0.0.0-0",
}

var oddVersions = []string{
	"", "v", "a", "1.", ".1", "1..2", "1.2.3.4", "01.2.3", "1.02.3", "1.2.3-01", "1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3-a.b-c", "1.2.3+a.b", "1.2.3+a+b", "V1.2.3", "vv1", " 1.2.3", "1.2.3 ", "1.2.3\n", "18446744073709551615.0.0", "18446744073709551616.0.0", "1.18446744073709551616", "1.2.18446744073709551616", "1-a", "1.2-a", "1+b", "1-a+b", "1.2.3--", "1.2.3-0-0", "1.2.3-é", "1.2.x", "-1", "1.2.3-a_b", "1.2.3-00a", "1.2.3-0a.00", "v1-rc.1+b.2", "1+a-b",
}

func init() {
	programs["semver"] = func() error {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetEscapeHTML(false)
		type versionCase struct {
			Version string `json:"v"`
			String  string `json:"s,omitempty"`
			Error   string `json:"e,omitempty"`
		}
		for _, text := range append(append([]string{}, versionTexts...), oddVersions...) {
			found := versionCase{Version: text}
			version, err := semver.NewVersion(text)
			if err != nil {
				found.Error = err.Error()
			} else {
				found.String = version.String() + " " + version.Prerelease() + " " + version.Metadata()
			}
			if err := encoder.Encode(found); err != nil {
				return err
			}
		}
		type constraintCase struct {
			Constraint string `json:"c"`
			Error      string `json:"e,omitempty"`
			Matches    string `json:"m,omitempty"`
		}
		for _, text := range constraintTexts {
			found := constraintCase{Constraint: text}
			constraint, err := semver.NewConstraint(text)
			if err != nil {
				found.Error = err.Error()
			} else {
				for _, version := range versionTexts {
					if constraint.Check(semver.MustParse(version)) {
						found.Matches += "1"
					} else {
						found.Matches += "0"
					}
				}
			}
			if err := encoder.Encode(found); err != nil {
				return err
			}
		}
		type orderCase struct {
			Left  string `json:"l"`
			Order string `json:"o"`
		}
		for _, left := range versionTexts {
			found := orderCase{Left: left}
			for _, right := range versionTexts {
				found.Order += string("<=>"[semver.MustParse(left).Compare(semver.MustParse(right))+1])
			}
			if err := encoder.Encode(found); err != nil {
				return err
			}
		}
		return nil
	}
}
