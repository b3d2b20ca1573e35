package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/frameworks/constraint/pkg/apis"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/drivers/rego"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	"github.com/open-policy-agent/frameworks/constraint/pkg/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/drivers/k8scel"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/gator/reader"
	mutationtypes "github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// An answer is what Gatekeeper does with a case: with CEL enabled, and with Rego alone where that differs.
type answer struct {
	CELEnabled  *outcome `json:"celEnabled"`
	CELDisabled *outcome `json:"celDisabled,omitempty"`
}

type outcome struct {
	// The errors of loading; empty where there is none.
	Templates   []string       `json:"templates"`
	Constraints []string       `json:"constraints"`
	Inventory   []string       `json:"inventory,omitempty"`
	CRDs        []any          `json:"crds,omitempty"`
	Reviews     []reviewOutput `json:"reviews"`
}

type reviewOutput struct {
	Error   string   `json:"error,omitempty"`
	Results []result `json:"results,omitempty"`
}

type result struct {
	Constraint        string   `json:"constraint"`
	Msg               string   `json:"msg"`
	Details           any      `json:"details"`
	EnforcementAction string   `json:"enforcementAction"`
	ScopedActions     []string `json:"scopedActions,omitempty"`
}

func unmarshalNumbers(text []byte, into *map[string]any) error { return utiljson.Unmarshal(text, into) }

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, apis.AddToScheme(scheme)
}

func newClient(withCEL bool) (*client.Client, error) {
	// As every manifest of Gatekeeper starts it.
	driver, err := rego.New(rego.DisableBuiltins("http.send"))
	if err != nil {
		return nil, err
	}
	options := []client.Opt{
		client.Targets(&target.K8sValidationTarget{}),
		client.EnforcementPoints(util.AuditEnforcementPoint, util.GatorEnforcementPoint, util.WebhookEnforcementPoint),
	}
	if withCEL {
		cel, err := k8scel.New()
		if err != nil {
			return nil, err
		}
		options = append(options, client.Driver(cel))
	}
	return client.NewClient(append(options, client.Driver(driver))...)
}

func (one *corpusCase) answer() (*answer, error) {
	enabled, err := one.outcome(true)
	if err != nil {
		return nil, err
	}
	disabled, err := one.outcome(false)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(enabled, disabled) {
		disabled = nil
	}
	return &answer{CELEnabled: enabled, CELDisabled: disabled}, nil
}

func (one *corpusCase) outcome(withCEL bool) (*outcome, error) {
	gatekeeper, err := newClient(withCEL)
	if err != nil {
		return nil, err
	}
	done := &outcome{Templates: []string{}, Constraints: []string{}, Reviews: []reviewOutput{}}
	for _, template := range one.Templates {
		crd, err := addTemplate(gatekeeper, template)
		done.Templates = append(done.Templates, text(err))
		if one.CRD {
			done.CRDs = append(done.CRDs, crd)
		}
	}
	for _, constraint := range one.Constraints {
		done.Constraints = append(done.Constraints, text(addConstraint(gatekeeper, constraint)))
	}
	for _, entry := range one.Inventory {
		err := addInventory(gatekeeper, entry.(object))
		done.Inventory = append(done.Inventory, text(err))
	}
	for i := range one.Reviews {
		done.Reviews = append(done.Reviews, one.Reviews[i].review(gatekeeper, one.Point))
	}
	return done, nil
}

// text is what an error reports. Gatekeeper gives several errors in no order: they are sorted.
func text(err error) string {
	if err == nil {
		return ""
	}
	all := err.Error()
	if head, list, ok := strings.Cut(all, "schema validation failed: [[]"); ok {
		parts := strings.Split(strings.TrimSuffix(list, "]"), ", []")
		slices.Sort(parts)
		return head + "schema validation failed: [[]" + strings.Join(parts, ", []") + "]"
	}
	if head, list, ok := strings.Cut(all, " errors occurred:\n"); ok {
		parts := strings.Split(list, "\ntemplate:")
		parts[0] = strings.TrimPrefix(parts[0], "template:")
		slices.Sort(parts)
		return head + " errors occurred:\ntemplate:" + strings.Join(parts, "\ntemplate:")
	}
	return all
}

func addTemplate(gatekeeper *client.Client, from object) (any, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	given, err := unstructuredOf(from)
	if err != nil {
		return nil, err
	}
	template, err := reader.ToTemplate(scheme, given)
	if err != nil {
		return nil, err
	}
	if _, err := gatekeeper.AddTemplate(context.Background(), template); err != nil {
		return nil, err
	}
	crd, err := gatekeeper.CreateCRD(context.Background(), template)
	if err != nil {
		return nil, err
	}
	return versionedCRD(crd)
}

func addConstraint(gatekeeper *client.Client, from object) error {
	constraint, err := unstructuredOf(from)
	if err != nil {
		return err
	}
	_, err = gatekeeper.AddConstraint(context.Background(), constraint)
	return err
}

func removeConstraint(gatekeeper *client.Client, from object) error {
	constraint, err := unstructuredOf(from)
	if err != nil {
		return err
	}
	_, err = gatekeeper.RemoveConstraint(context.Background(), constraint)
	return err
}

func addInventory(gatekeeper *client.Client, from object) error {
	entry, err := unstructuredOf(from)
	if err != nil {
		return err
	}
	_, err = gatekeeper.AddData(context.Background(), entry)
	return err
}

// review is the answer to one object at the enforcement point.
func (input *reviewInput) review(gatekeeper *client.Client, point string) reviewOutput {
	if point == "" {
		point = util.GatorEnforcementPoint
	}
	options := []reviews.ReviewOpt{reviews.EnforcementPoint(point)}
	request, err := input.request()
	if err != nil {
		return reviewOutput{Error: err.Error()}
	}
	if input.Namespace != nil {
		// As the audit and the webhook pass it.
		options = append(options, reviews.Namespace(input.Namespace))
	}
	responses, err := gatekeeper.Review(context.Background(), request, options...)
	if err != nil {
		return reviewOutput{Error: err.Error()}
	}
	return reviewOutput{Results: results(responses)}
}

// request is what the target of Gatekeeper reviews.
func (input *reviewInput) request() (any, error) {
	source := mutationtypes.SourceTypeOriginal
	if input.Source != nil {
		source = mutationtypes.SourceType(*input.Source)
	}
	var namespace *corev1.Namespace
	if input.Namespace != nil {
		namespace = &corev1.Namespace{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(input.Namespace, namespace); err != nil {
			return nil, err
		}
	}
	if input.AdmissionReview != nil {
		var review admissionv1.AdmissionReview
		converter := runtime.DefaultUnstructuredConverter
		given, err := unstructuredOf(input.AdmissionReview)
		if err != nil {
			return nil, err
		}
		if err := converter.FromUnstructuredWithValidation(given.Object, &review, true); err != nil {
			return nil, err
		}
		if review.Request == nil {
			return nil, fmt.Errorf("the AdmissionReview has no request")
		}
		return target.AugmentedReview{
			AdmissionRequest: review.Request, Namespace: namespace, Source: source, IsAdmission: true,
		}, nil
	}
	given, err := unstructuredOf(input.Object)
	if err != nil {
		return nil, err
	}
	return target.AugmentedUnstructured{Object: *given, Namespace: namespace, Source: source}, nil
}

// results are in the order of Gatekeeper. Where two have the same action and message, it has none: they are sorted.
func results(responses *types.Responses) []result {
	all := []result{}
	for _, found := range responses.Results() {
		all = append(all, result{
			Constraint:        name(found.Constraint),
			Msg:               found.Msg,
			Details:           found.Metadata["details"],
			EnforcementAction: found.EnforcementAction,
			ScopedActions:     sortedScoped(found.ScopedEnforcementActions),
		})
	}
	slices.SortStableFunc(all, func(a, b result) int {
		if a.EnforcementAction != b.EnforcementAction || a.Msg != b.Msg {
			return 0
		}
		return strings.Compare(tie(a), tie(b))
	})
	return all
}

// The actions come from a map, in no order.
func sortedScoped(actions []string) []string {
	sorted := slices.Clone(actions)
	slices.Sort(sorted)
	return sorted
}

func tie(of result) string {
	details, _ := json.Marshal(of.Details)
	return of.Constraint + "\n" + string(details)
}

func name(constraint *unstructured.Unstructured) string {
	if constraint == nil {
		return ""
	}
	return constraint.GetKind() + "/" + constraint.GetName()
}
