package main

import (
	"fmt"
	"sort"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// tokens is a client with the token of a service account.
func tokens(t *traveller) error {
	accounts := t.typed.CoreV1().ServiceAccounts(t.namespace)
	_, err := accounts.Create(t.context, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	hour := int64(3600)
	asked := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}
	given, err := accounts.CreateToken(t.context, "robot", asked, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("token", "%d parts, %d seconds, expires %v", strings.Count(given.Status.Token, ".")+1, *given.Spec.ExpirationSeconds, !given.Status.ExpirationTimestamp.IsZero())
	soon := int64(1)
	_, err = accounts.CreateToken(t.context, "robot", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &soon}}, metav1.CreateOptions{})
	refused("a short token", err)
	_, err = accounts.CreateToken(t.context, "nobody", asked, metav1.CreateOptions{})
	refused("token of nobody", err)

	robot, err := t.as(given.Status.Token)
	if err != nil {
		return err
	}
	who, err := robot.AuthenticationV1().SelfSubjectReviews().Create(t.context, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("who", "%s %v", who.Status.UserInfo.Username, who.Status.UserInfo.Groups)
	review := func(step string) error {
		for _, verb := range []string{"list", "delete"} {
			answer, err := robot.AuthorizationV1().SelfSubjectAccessReviews().Create(t.context, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: t.namespace, Verb: verb, Resource: "configmaps",
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			say(step, "%s allowed=%v %q", verb, answer.Status.Allowed, answer.Status.Reason)
		}
		return nil
	}
	if err := review("rights before"); err != nil {
		return err
	}
	_, err = robot.CoreV1().ConfigMaps(t.namespace).List(t.context, metav1.ListOptions{})
	refused("list before", err)
	if err := t.grant(); err != nil {
		return err
	}
	err = t.until("the right", func() (bool, error) {
		_, err := robot.CoreV1().ConfigMaps(t.namespace).List(t.context, metav1.ListOptions{})
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	if err := review("rights after"); err != nil {
		return err
	}
	refused("delete after", robot.CoreV1().ConfigMaps(t.namespace).Delete(t.context, "kube-root-ca.crt", metav1.DeleteOptions{}))
	_, err = robot.RbacV1().Roles(t.namespace).Create(t.context, role("more", "delete"), metav1.CreateOptions{})
	refused("rights for itself", err)
	if err := t.rules(robot); err != nil {
		return err
	}
	return t.tokenReviews(given.Status.Token)
}

// as is a client with a token and nothing else.
func (t *traveller) as(token string) (kubernetes.Interface, error) {
	config := rest.AnonymousClientConfig(t.config)
	config.BearerToken = token
	config.QPS = -1
	return kubernetes.NewForConfig(config)
}

func role(name string, verbs ...string) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}},
	}
}

func (t *traveller) grant() error {
	if _, err := t.typed.RbacV1().Roles(t.namespace).Create(t.context, role("reader", "get", "list"), metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := t.typed.RbacV1().RoleBindings(t.namespace).Create(t.context, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot", Namespace: t.namespace}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
	}, metav1.CreateOptions{})
	return err
}

func (t *traveller) rules(robot kubernetes.Interface) error {
	answer, err := robot.AuthorizationV1().SelfSubjectRulesReviews().Create(t.context, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: t.namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	var told []string
	for _, rule := range answer.Status.ResourceRules {
		told = append(told, fmt.Sprintf("%v of %v %v", rule.Verbs, rule.APIGroups, rule.Resources))
	}
	sort.Strings(told)
	for _, rule := range told {
		say("rule", "%s", rule)
	}
	return nil
}

func (t *traveller) tokenReviews(token string) error {
	for _, one := range []struct{ step, token string }{{"the token", token}, {"no token", "x.y.z"}} {
		answer, err := t.typed.AuthenticationV1().TokenReviews().Create(t.context, &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: one.token},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		say("review of "+one.step, "%v %s %v", answer.Status.Authenticated, answer.Status.User.Username, answer.Status.Audiences)
	}
	stranger, err := t.as("x.y.z")
	if err != nil {
		return err
	}
	_, err = stranger.CoreV1().ConfigMaps(t.namespace).List(t.context, metav1.ListOptions{})
	refused("list with no token", err)
	return nil
}

// refusals are what the predicates of errors tell apart.
func refusals(t *traveller) error {
	api := t.typed.CoreV1().ConfigMaps(t.namespace)
	if err := t.create("a", "1", nil); err != nil {
		return err
	}
	_, err := api.Get(t.context, "nothing", metav1.GetOptions{})
	refused("nothing there", err)
	_, err = api.Create(t.context, configMap("a", "1", nil), metav1.CreateOptions{})
	refused("there already", err)
	_, err = api.Create(t.context, configMap("Not_A_Name", "1", map[string]string{"-": "!"}), metav1.CreateOptions{})
	refused("no name", err)
	_, err = api.Create(t.context, configMap("", "1", nil), metav1.CreateOptions{})
	refused("without a name", err)
	_, err = t.typed.CoreV1().ConfigMaps("missing").Create(t.context, configMap("a", "1", nil), metav1.CreateOptions{})
	refused("missing namespace", err)
	wanted := deployment("d")
	wanted.Spec.Selector.MatchLabels = map[string]string{"other": "x"}
	wanted.Spec.Template.Spec.Containers[0].Name = "Not A Name"
	wanted.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err = t.typed.AppsV1().Deployments(t.namespace).Create(t.context, wanted, metav1.CreateOptions{})
	refused("a broken Deployment", err)
	_, err = t.typed.CoreV1().Services(t.namespace).Create(t.context, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 0}, {Port: 1}}},
	}, metav1.CreateOptions{})
	refused("a broken Service", err)
	_, err = t.dynamic.Resource(schema.GroupVersionResource{Group: "missing.example.com", Version: "v1", Resource: "things"}).List(t.context, metav1.ListOptions{})
	refused("no such kind", err)
	_, err = t.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "things"}).List(t.context, metav1.ListOptions{})
	refused("no such resource", err)
	_, err = t.typed.CoreV1().Namespaces().Create(t.context, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a.b"}}, metav1.CreateOptions{})
	refused("a namespace with a dot", err)
	err = t.typed.CoreV1().RESTClient().Post().Namespace(t.namespace).Resource("configmaps").Name("a").Body([]byte(`{}`)).Do(t.context).Error()
	refused("post to an object", err)
	err = t.typed.CoreV1().RESTClient().Put().Namespace(t.namespace).Resource("configmaps").Name("b").
		SetHeader("Content-Type", "application/json").Body([]byte(`{"metadata":{"name":"a"}}`)).Do(t.context).Error()
	refused("put of another name", err)
	err = t.typed.CoreV1().RESTClient().Post().Namespace(t.namespace).Resource("configmaps").
		SetHeader("Content-Type", "text/html").Body([]byte(`<p>`)).Do(t.context).Error()
	refused("a body of another type", err)
	err = t.typed.CoreV1().RESTClient().Post().Namespace(t.namespace).Resource("configmaps").
		SetHeader("Content-Type", "application/json").Body([]byte(`{"metadata":`)).Do(t.context).Error()
	refused("half a body", err)
	err = t.typed.CoreV1().RESTClient().Get().AbsPath("/nowhere").Do(t.context).Error()
	refused("no such path", err)
	config := rest.AnonymousClientConfig(t.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "somebody", Groups: []string{"some"}}
	impersonating := rest.CopyConfig(t.config)
	impersonating.Impersonate = config.Impersonate
	somebody, err := kubernetes.NewForConfig(impersonating)
	if err != nil {
		return err
	}
	_, err = somebody.CoreV1().Secrets(t.namespace).Get(t.context, "s", metav1.GetOptions{})
	refused("somebody", err)
	return nil
}
