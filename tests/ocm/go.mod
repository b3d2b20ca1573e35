module reeve/tests/ocm

go 1.26.0

require (
	k8s.io/klog/v2 v2.140.0
	k8s.io/utils v0.0.0-20260210185600-b8788abfbbc2
	open-cluster-management.io/api v1.2.0
	open-cluster-management.io/ocm v1.2.0
)

// The libraries that the version above names do not compile with the Kubernetes of tests/go.work.
require (
	github.com/openshift/api v0.0.0-20260728120005-8ba0b25b0f29 // indirect
	github.com/openshift/client-go v0.0.0-20260715172546-dac61734e0ec // indirect
	github.com/openshift/library-go v0.0.0-20260721103755-0c9fbc9f043a // indirect
)
