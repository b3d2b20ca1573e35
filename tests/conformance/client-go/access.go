package main

import (
	"fmt"
	"sort"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	if err := t.tokenReviews(given.Status.Token); err != nil {
		return err
	}
	return t.secretTokens()
}

// secretTokens are tokens in Secrets, which come and go with their account.
func (t *traveller) secretTokens() error {
	accounts, secrets := t.typed.CoreV1().ServiceAccounts(t.namespace), t.typed.CoreV1().Secrets(t.namespace)
	made := func(name, account string) error {
		secret := &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, ObjectMeta: metav1.ObjectMeta{Name: name}}
		if account != "" {
			secret.Annotations = map[string]string{corev1.ServiceAccountNameKey: account}
		}
		_, err := secrets.Create(t.context, secret, metav1.CreateOptions{})
		return err
	}
	gone := func(name string) error {
		return t.until("the end of "+name, func() (bool, error) {
			_, err := secrets.Get(t.context, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
	}
	refused("a token of no account", made("none", ""))
	if err := made("of-nobody", "nobody"); err != nil {
		return err
	}
	if err := gone("of-nobody"); err != nil {
		return err
	}
	account, err := accounts.Create(t.context, &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "old"}, Secrets: []corev1.ObjectReference{{Name: "old-1"}, {Name: "old-2"}, {Name: "old-3"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	var tokens []string
	for _, name := range []string{"old-1", "old-2", "old-3"} {
		if err := made(name, "old"); err != nil {
			return err
		}
		var filled *corev1.Secret
		err := t.until("the token of "+name, func() (bool, error) {
			filled, err = secrets.Get(t.context, name, metav1.GetOptions{})
			return err == nil && len(filled.Data[corev1.ServiceAccountTokenKey]) > 0, err
		})
		if err != nil {
			return err
		}
		authority := filled.Data[corev1.ServiceAccountRootCAKey]
		say("filled in", "%s, authority=%v, name=%s, of the account=%v", filled.Data[corev1.ServiceAccountNamespaceKey],
			strings.HasPrefix(string(authority), "-----BEGIN CERTIFICATE-----"), filled.Annotations[corev1.ServiceAccountNameKey],
			filled.Annotations[corev1.ServiceAccountUIDKey] == string(account.UID))
		tokens = append(tokens, string(filled.Data[corev1.ServiceAccountTokenKey]))
	}
	// Each is shown once: a real server remembers for some seconds who had shown one.
	who := func(step, token string) error {
		old, err := t.as(token)
		if err != nil {
			return err
		}
		who, err := old.AuthenticationV1().SelfSubjectReviews().Create(t.context, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			refused(step, err)
			return nil
		}
		info := who.Status.UserInfo
		say(step, "%s %v %v, of the account=%v", info.Username, info.Groups, info.Extra, info.UID == string(account.UID))
		return nil
	}
	if err := who("who it is by the token of a secret", tokens[0]); err != nil {
		return err
	}
	if err := secrets.Delete(t.context, "old-2", metav1.DeleteOptions{}); err != nil {
		return err
	}
	err = t.until("the account without the secret", func() (bool, error) {
		account, err := accounts.Get(t.context, "old", metav1.GetOptions{})
		return err == nil && len(account.Secrets) == 2, err
	})
	if err != nil {
		return err
	}
	if err := who("by that of a secret that is gone", tokens[1]); err != nil {
		return err
	}
	if err := accounts.Delete(t.context, "old", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := gone("old-3"); err != nil {
		return err
	}
	return who("by that of an account that is gone", tokens[2])
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
	var rules []string
	for _, rule := range answer.Status.ResourceRules {
		rules = append(rules, fmt.Sprintf("%v of %v %v", rule.Verbs, rule.APIGroups, rule.Resources))
	}
	sort.Strings(rules)
	for _, rule := range rules {
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
