package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var words = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`("resourceVersion":")\d+`), "${1}<version>"},
	{regexp.MustCompile(`("continue":")[^"]+`), "${1}<token>"},
	{regexp.MustCompile(`(resource version: |current: |record \(|precondition \()\d+( \(\d+\))?`), "${1}<version>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<server>"},
}

func worded(text string) string {
	for _, one := range words {
		text = one.pattern.ReplaceAllString(text, one.word)
	}
	return text
}

// say prints what was seen at a step.
func say(step, format string, arguments ...any) {
	fmt.Println(worded(step + ": " + fmt.Sprintf(format, arguments...)))
}

// show prints an object, or how it was refused.
func show(step string, object any, err error) {
	if err != nil {
		refused(step, err)
		return
	}
	text, err := json.Marshal(object)
	if err != nil {
		say(step, "cannot be written: %v", err)
		return
	}
	say(step, "%s", sortManagers(text))
}

// sortManagers sorts the managedFields of an object in JSON by operation, manager and subresource. Servers sort them by time first, in whole
// seconds: their order depends on whether a second ended between two writes.
func sortManagers(text []byte) []byte {
	if !bytes.Contains(text, []byte(`"managedFields":[`)) {
		return text
	}
	var object struct {
		Metadata struct {
			ManagedFields []json.RawMessage `json:"managedFields"`
		} `json:"metadata"`
	}
	if json.Unmarshal(text, &object) != nil || len(object.Metadata.ManagedFields) < 2 {
		return text
	}
	written := bytes.Join(asBytes(object.Metadata.ManagedFields), []byte(","))
	sort.SliceStable(object.Metadata.ManagedFields, func(left, right int) bool {
		return managerKey(object.Metadata.ManagedFields[left]) < managerKey(object.Metadata.ManagedFields[right])
	})
	return bytes.Replace(text, written, bytes.Join(asBytes(object.Metadata.ManagedFields), []byte(",")), 1)
}

func managerKey(entry json.RawMessage) string {
	var key struct{ Operation, Manager, Subresource string }
	if json.Unmarshal(entry, &key) != nil {
		return string(entry)
	}
	return key.Operation + " " + key.Manager + " " + key.Subresource
}

func asBytes(messages []json.RawMessage) [][]byte {
	parts := make([][]byte, 0, len(messages))
	for _, message := range messages {
		parts = append(parts, message)
	}
	return parts
}

var predicates = []struct {
	name string
	is   func(error) bool
}{
	{"AlreadyExists", apierrors.IsAlreadyExists},
	{"BadRequest", apierrors.IsBadRequest},
	{"Conflict", apierrors.IsConflict},
	{"Forbidden", apierrors.IsForbidden},
	{"Gone", apierrors.IsGone},
	{"InternalError", apierrors.IsInternalError},
	{"Invalid", apierrors.IsInvalid},
	{"MethodNotSupported", apierrors.IsMethodNotSupported},
	{"NotAcceptable", apierrors.IsNotAcceptable},
	{"NotFound", apierrors.IsNotFound},
	{"RequestEntityTooLarge", apierrors.IsRequestEntityTooLargeError},
	{"ResourceExpired", apierrors.IsResourceExpired},
	{"Unauthorized", apierrors.IsUnauthorized},
	{"UnexpectedObject", apierrors.IsUnexpectedObjectError},
	{"UnexpectedServerError", apierrors.IsUnexpectedServerError},
	{"UnsupportedMediaType", apierrors.IsUnsupportedMediaType},
}

// refused prints what client-go makes of a refusal.
func refused(step string, err error) {
	if err == nil {
		say(step, "was not refused")
		return
	}
	var are []string
	for _, predicate := range predicates {
		if predicate.is(err) {
			are = append(are, predicate.name)
		}
	}
	say(step, "refused %v", are)
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		say(step, "no status: %v", err)
		return
	}
	answer := status.Status()
	causes := ""
	if answer.Details != nil && len(answer.Details.Causes) > 0 {
		var texts []string
		for _, cause := range answer.Details.Causes {
			texts = append(texts, fmt.Sprintf("%s at %q: %s", cause.Type, cause.Field, cause.Message))
		}
		// They come in any order, and so do they in the message.
		sort.Strings(texts)
		causes = strings.Join(texts, "; ")
		answer.Details.Causes = nil
		if len(texts) > 1 {
			answer.Message, _, _ = strings.Cut(answer.Message, " is invalid: [")
		}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		say(step, "cannot be written: %v", err)
		return
	}
	say(step, "%s", text)
	if causes != "" {
		say(step, "causes: %s", causes)
	}
}

// requests remembers what was asked of the server.
type requests struct {
	lock sync.Mutex
	seen []string
}

type recorder struct {
	inner    http.RoundTripper
	requests *requests
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.inner.RoundTrip(request)
	line := request.Method + " " + request.URL.Path + asked(request.URL.Query())
	if err == nil {
		line += fmt.Sprintf(" -> %d", response.StatusCode)
	}
	r.requests.lock.Lock()
	defer r.requests.lock.Unlock()
	r.requests.seen = append(r.requests.seen, line)
	return response, err
}

// asked is a query without what differs from time to time.
func asked(query url.Values) string {
	var parts []string
	for name, values := range query {
		value := values[0]
		switch name {
		case "timeoutSeconds", "timeout", "continue":
			value = "<any>"
		case "resourceVersion":
			if value != "" && value != "0" {
				value = "<version>"
			}
		}
		parts = append(parts, name+"="+value)
	}
	sort.Strings(parts)
	if len(parts) == 0 {
		return ""
	}
	return "?" + strings.Join(parts, "&")
}

// sayRequests prints which different requests were made of a path, and forgets all.
func (t *traveller) sayRequests(step, path string) {
	t.requests.lock.Lock()
	defer t.requests.lock.Unlock()
	different := map[string]bool{}
	for _, line := range t.requests.seen {
		if strings.Contains(line, path) {
			different[line] = true
		}
	}
	t.requests.seen = nil
	var lines []string
	for line := range different {
		lines = append(lines, line)
	}
	sort.Strings(lines)
	for _, line := range lines {
		say(step, "%s", line)
	}
}
