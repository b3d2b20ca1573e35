//! The fields of OLM's specs and of the Kubernetes types in them, as Go declares them.
//!
//! Written by `tests/oracle/strict`.

use reeve_go_compat::json::typed::{Field, Struct, TEXT, Type};

pub static LABEL_SELECTOR_REQUIREMENT: Struct = Struct { name: "v1.LabelSelectorRequirement", fields: &[
    Field::new("key", TEXT),
    Field::new("operator", Type::Text("v1.LabelSelectorOperator")),
    Field::new("values", Type::List(&TEXT)),
] };
pub static LABEL_SELECTOR: Struct = Struct { name: "v1.LabelSelector", fields: &[
    Field::new("matchLabels", Type::Map("map[string]string", &TEXT)),
    Field::new("matchExpressions", Type::List(&Type::Struct(&LABEL_SELECTOR_REQUIREMENT))),
] };
pub static TOLERATION: Struct = Struct { name: "v1.Toleration", fields: &[
    Field::new("key", TEXT),
    Field::new("operator", Type::Text("v1.TolerationOperator")),
    Field::new("value", TEXT),
    Field::new("effect", Type::Text("v1.TaintEffect")),
    Field::new("tolerationSeconds", Type::Int("int64")),
] };
pub static RESOURCE_CLAIM: Struct = Struct { name: "v1.ResourceClaim", fields: &[
    Field::new("name", TEXT),
    Field::new("request", TEXT),
] };
pub static RESOURCE_REQUIREMENTS: Struct = Struct { name: "v1.ResourceRequirements", fields: &[
    Field::new("limits", Type::Map("v1.ResourceList", &Type::Quantity)),
    Field::new("requests", Type::Map("v1.ResourceList", &Type::Quantity)),
    Field::new("claims", Type::List(&Type::Struct(&RESOURCE_CLAIM))),
] };
pub static CONFIG_MAP_ENV_SOURCE: Struct = Struct { name: "v1.ConfigMapEnvSource", fields: &[
    Field::new("name", TEXT).embedded("LocalObjectReference"),
    Field::new("optional", Type::Bool),
] };
pub static SECRET_ENV_SOURCE: Struct = Struct { name: "v1.SecretEnvSource", fields: &[
    Field::new("name", TEXT).embedded("LocalObjectReference"),
    Field::new("optional", Type::Bool),
] };
pub static ENV_FROM_SOURCE: Struct = Struct { name: "v1.EnvFromSource", fields: &[
    Field::new("prefix", TEXT),
    Field::new("configMapRef", Type::Struct(&CONFIG_MAP_ENV_SOURCE)),
    Field::new("secretRef", Type::Struct(&SECRET_ENV_SOURCE)),
] };
pub static OBJECT_FIELD_SELECTOR: Struct = Struct { name: "v1.ObjectFieldSelector", fields: &[
    Field::new("apiVersion", TEXT),
    Field::new("fieldPath", TEXT),
] };
pub static RESOURCE_FIELD_SELECTOR: Struct = Struct { name: "v1.ResourceFieldSelector", fields: &[
    Field::new("containerName", TEXT),
    Field::new("resource", TEXT),
    Field::new("divisor", Type::Quantity),
] };
pub static CONFIG_MAP_KEY_SELECTOR: Struct = Struct { name: "v1.ConfigMapKeySelector", fields: &[
    Field::new("name", TEXT).embedded("LocalObjectReference"),
    Field::new("key", TEXT),
    Field::new("optional", Type::Bool),
] };
pub static SECRET_KEY_SELECTOR: Struct = Struct { name: "v1.SecretKeySelector", fields: &[
    Field::new("name", TEXT).embedded("LocalObjectReference"),
    Field::new("key", TEXT),
    Field::new("optional", Type::Bool),
] };
pub static FILE_KEY_SELECTOR: Struct = Struct { name: "v1.FileKeySelector", fields: &[
    Field::new("volumeName", TEXT),
    Field::new("path", TEXT),
    Field::new("key", TEXT),
    Field::new("optional", Type::Bool),
] };
pub static ENV_VAR_SOURCE: Struct = Struct { name: "v1.EnvVarSource", fields: &[
    Field::new("fieldRef", Type::Struct(&OBJECT_FIELD_SELECTOR)),
    Field::new("resourceFieldRef", Type::Struct(&RESOURCE_FIELD_SELECTOR)),
    Field::new("configMapKeyRef", Type::Struct(&CONFIG_MAP_KEY_SELECTOR)),
    Field::new("secretKeyRef", Type::Struct(&SECRET_KEY_SELECTOR)),
    Field::new("fileKeyRef", Type::Struct(&FILE_KEY_SELECTOR)),
] };
pub static ENV_VAR: Struct = Struct { name: "v1.EnvVar", fields: &[
    Field::new("name", TEXT),
    Field::new("value", TEXT),
    Field::new("valueFrom", Type::Struct(&ENV_VAR_SOURCE)),
] };
pub static HOST_PATH_VOLUME_SOURCE: Struct = Struct { name: "v1.HostPathVolumeSource", fields: &[
    Field::new("path", TEXT),
    Field::new("type", Type::Text("v1.HostPathType")),
] };
pub static EMPTY_DIR_VOLUME_SOURCE: Struct = Struct { name: "v1.EmptyDirVolumeSource", fields: &[
    Field::new("medium", Type::Text("v1.StorageMedium")),
    Field::new("sizeLimit", Type::Quantity),
] };
pub static GCE_PERSISTENT_DISK_VOLUME_SOURCE: Struct = Struct { name: "v1.GCEPersistentDiskVolumeSource", fields: &[
    Field::new("pdName", TEXT),
    Field::new("fsType", TEXT),
    Field::new("partition", Type::Int("int32")),
    Field::new("readOnly", Type::Bool),
] };
pub static AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE: Struct = Struct { name: "v1.AWSElasticBlockStoreVolumeSource", fields: &[
    Field::new("volumeID", TEXT),
    Field::new("fsType", TEXT),
    Field::new("partition", Type::Int("int32")),
    Field::new("readOnly", Type::Bool),
] };
pub static GIT_REPO_VOLUME_SOURCE: Struct = Struct { name: "v1.GitRepoVolumeSource", fields: &[
    Field::new("repository", TEXT),
    Field::new("revision", TEXT),
    Field::new("directory", TEXT),
] };
pub static KEY_TO_PATH: Struct = Struct { name: "v1.KeyToPath", fields: &[
    Field::new("key", TEXT),
    Field::new("path", TEXT),
    Field::new("mode", Type::Int("int32")),
] };
pub static SECRET_VOLUME_SOURCE: Struct = Struct { name: "v1.SecretVolumeSource", fields: &[
    Field::new("secretName", TEXT),
    Field::new("items", Type::List(&Type::Struct(&KEY_TO_PATH))),
    Field::new("defaultMode", Type::Int("int32")),
    Field::new("optional", Type::Bool),
] };
pub static NFS_VOLUME_SOURCE: Struct = Struct { name: "v1.NFSVolumeSource", fields: &[
    Field::new("server", TEXT),
    Field::new("path", TEXT),
    Field::new("readOnly", Type::Bool),
] };
pub static LOCAL_OBJECT_REFERENCE: Struct = Struct { name: "v1.LocalObjectReference", fields: &[
    Field::new("name", TEXT),
] };
pub static ISCSI_VOLUME_SOURCE: Struct = Struct { name: "v1.ISCSIVolumeSource", fields: &[
    Field::new("targetPortal", TEXT),
    Field::new("iqn", TEXT),
    Field::new("lun", Type::Int("int32")),
    Field::new("iscsiInterface", TEXT),
    Field::new("fsType", TEXT),
    Field::new("readOnly", Type::Bool),
    Field::new("portals", Type::List(&TEXT)),
    Field::new("chapAuthDiscovery", Type::Bool),
    Field::new("chapAuthSession", Type::Bool),
    Field::new("secretRef", Type::Struct(&LOCAL_OBJECT_REFERENCE)),
    Field::new("initiatorName", TEXT),
] };
pub static GLUSTERFS_VOLUME_SOURCE: Struct = Struct { name: "v1.GlusterfsVolumeSource", fields: &[
    Field::new("endpoints", TEXT),
    Field::new("path", TEXT),
    Field::new("readOnly", Type::Bool),
] };
pub static PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE: Struct = Struct { name: "v1.PersistentVolumeClaimVolumeSource", fields: &[
    Field::new("claimName", TEXT),
    Field::new("readOnly", Type::Bool),
] };
pub static RBD_VOLUME_SOURCE: Struct = Struct { name: "v1.RBDVolumeSource", fields: &[
    Field::new("monitors", Type::List(&TEXT)),
    Field::new("image", TEXT),
    Field::new("fsType", TEXT),
    Field::new("pool", TEXT),
    Field::new("user", TEXT),
    Field::new("keyring", TEXT),
    Field::new("secretRef", Type::Struct(&LOCAL_OBJECT_REFERENCE)),
    Field::new("readOnly", Type::Bool),
] };
pub static FLEX_VOLUME_SOURCE: Struct = Struct { name: "v1.FlexVolumeSource", fields: &[
    Field::new("driver", TEXT),
    Field::new("fsType", TEXT),
    Field::new("secretRef", Type::Struct(&LOCAL_OBJECT_REFERENCE)),
    Field::new("readOnly", Type::Bool),
    Field::new("options", Type::Map("map[string]string", &TEXT)),
] };
pub static CINDER_VOLUME_SOURCE: Struct = Struct { name: "v1.CinderVolumeSource", fields: &[
    Field::new("volumeID", TEXT),
    Field::new("fsType", TEXT),
    Field::new("readOnly", Type::Bool),
    Field::new("secretRef", Type::Struct(&LOCAL_OBJECT_REFERENCE)),
] };
pub static CEPH_FS_VOLUME_SOURCE: Struct = Struct { name: "v1.CephFSVolumeSource", fields: &[
    Field::new("monitors", Type::List(&TEXT)),
    Field::new("path", TEXT),
    Field::new("user", TEXT),
    Field::new("secretFile", TEXT),
    Field::new("secretRef", Type::Struct(&LOCAL_OBJECT_REFERENCE)),
    Field::new("readOnly", Type::Bool),
] };
pub static FLOCKER_VOLUME_SOURCE: Struct = Struct { name: "v1.FlockerVolumeSource", fields: &[
    Field::new("datasetName", TEXT),
    Field::new("datasetUUID", TEXT),
] };
pub static DOWNWARD_API_VOLUME_FILE: Struct = Struct { name: "v1.DownwardAPIVolumeFile", fields: &[
    Field::new("path", TEXT),
    Field::new("fieldRef", Type::Struct(&OBJECT_FIELD_SELECTOR)),
    Field::new("resourceFieldRef", Type::Struct(&RESOURCE_FIELD_SELECTOR)),
    Field::new("mode", Type::Int("int32")),
] };
pub static DOWNWARD_API_VOLUME_SOURCE: Struct = Struct { name: "v1.DownwardAPIVolumeSource", fields: &[
    Field::new("items", Type::List(&Type::Struct(&DOWNWARD_API_VOLUME_FILE))),
    Field::new("defaultMode", Type::Int("int32")),
] };
pub static FC_VOLUME_SOURCE: Struct = Struct { name: "v1.FCVolumeSource", fields: &[
    Field::new("targetWWNs", Type::List(&TEXT)),
    Field::new("lun", Type::Int("int32")),
    Field::new("fsType", TEXT),
    Field::new("readOnly", Type::Bool),
    Field::new("wwids", Type::List(&TEXT)),
] };
pub static AZURE_FILE_VOLUME_SOURCE: Struct = Struct { name: "v1.AzureFileVolumeSource", fields: &[
    Field::new("secretName", TEXT),
    Field::new("shareName", TEXT),
    Field::new("readOnly", Type::Bool),
] };
pub static CONFIG_MAP_VOLUME_SOURCE: Struct = Struct { name: "v1.ConfigMapVolumeSource", fields: &[
    Field::new("name", TEXT).embedded("LocalObjectReference"),
    Field::new("items", Type::List(&Type::Struct(&KEY_TO_PATH))),
    Field::new("defaultMode", Type::Int("int32")),
    Field::new("optional", Type::Bool),
] };
pub static VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE: Struct = Struct { name: "v1.VsphereVirtualDiskVolumeSource", fields: &[
    Field::new("volumePath", TEXT),
    Field::new("fsType", TEXT),
    Field::new("storagePolicyName", TEXT),
    Field::new("storagePolicyID", TEXT),
] };
pub static QUOBYTE_VOLUME_SOURCE: Struct = Struct { name: "v1.QuobyteVolumeSource", fields: &[
    Field::new("registry", TEXT),
    Field::new("volume", TEXT),
    Field::new("readOnly", Type::Bool),
    Field::new("user", TEXT),
    Field::new("group", TEXT),
    Field::new("tenant", TEXT),
] };
pub static AZURE_DISK_VOLUME_SOURCE: Struct = Struct { name: "v1.AzureDiskVolumeSource", fields: &[
    Field::new("diskName", TEXT),
    Field::new("diskURI", TEXT),
    Field::new("cachingMode", Type::Text("v1.AzureDataDiskCachingMode")),
    Field::new("fsType", TEXT),
    Field::new("readOnly", Type::Bool),
    Field::new("kind", Type::Text("v1.AzureDataDiskKind")),
] };
pub static PHOTON_PERSISTENT_DISK_VOLUME_SOURCE: Struct = Struct { name: "v1.PhotonPersistentDiskVolumeSource", fields: &[
    Field::new("pdID", TEXT),
    Field::new("fsType", TEXT),
] };
pub static SECRET_PROJECTION: Struct = Struct { name: "v1.SecretProjection", fields: &[
    Field::new("name", TEXT).embedded("LocalObjectReference"),
    Field::new("items", Type::List(&Type::Struct(&KEY_TO_PATH))),
    Field::new("optional", Type::Bool),
] };
pub static DOWNWARD_API_PROJECTION: Struct = Struct { name: "v1.DownwardAPIProjection", fields: &[
    Field::new("items", Type::List(&Type::Struct(&DOWNWARD_API_VOLUME_FILE))),
] };
pub static CONFIG_MAP_PROJECTION: Struct = Struct { name: "v1.ConfigMapProjection", fields: &[
    Field::new("name", TEXT).embedded("LocalObjectReference"),
    Field::new("items", Type::List(&Type::Struct(&KEY_TO_PATH))),
    Field::new("optional", Type::Bool),
] };
pub static SERVICE_ACCOUNT_TOKEN_PROJECTION: Struct = Struct { name: "v1.ServiceAccountTokenProjection", fields: &[
    Field::new("audience", TEXT),
    Field::new("expirationSeconds", Type::Int("int64")),
    Field::new("path", TEXT),
] };
pub static CLUSTER_TRUST_BUNDLE_PROJECTION: Struct = Struct { name: "v1.ClusterTrustBundleProjection", fields: &[
    Field::new("name", TEXT),
    Field::new("signerName", TEXT),
    Field::new("labelSelector", Type::Struct(&LABEL_SELECTOR)),
    Field::new("optional", Type::Bool),
    Field::new("path", TEXT),
] };
pub static POD_CERTIFICATE_PROJECTION: Struct = Struct { name: "v1.PodCertificateProjection", fields: &[
    Field::new("signerName", TEXT),
    Field::new("keyType", TEXT),
    Field::new("maxExpirationSeconds", Type::Int("int32")),
    Field::new("credentialBundlePath", TEXT),
    Field::new("keyPath", TEXT),
    Field::new("certificateChainPath", TEXT),
    Field::new("userAnnotations", Type::Map("map[string]string", &TEXT)),
] };
pub static VOLUME_PROJECTION: Struct = Struct { name: "v1.VolumeProjection", fields: &[
    Field::new("secret", Type::Struct(&SECRET_PROJECTION)),
    Field::new("downwardAPI", Type::Struct(&DOWNWARD_API_PROJECTION)),
    Field::new("configMap", Type::Struct(&CONFIG_MAP_PROJECTION)),
    Field::new("serviceAccountToken", Type::Struct(&SERVICE_ACCOUNT_TOKEN_PROJECTION)),
    Field::new("clusterTrustBundle", Type::Struct(&CLUSTER_TRUST_BUNDLE_PROJECTION)),
    Field::new("podCertificate", Type::Struct(&POD_CERTIFICATE_PROJECTION)),
] };
pub static PROJECTED_VOLUME_SOURCE: Struct = Struct { name: "v1.ProjectedVolumeSource", fields: &[
    Field::new("sources", Type::List(&Type::Struct(&VOLUME_PROJECTION))),
    Field::new("defaultMode", Type::Int("int32")),
] };
pub static PORTWORX_VOLUME_SOURCE: Struct = Struct { name: "v1.PortworxVolumeSource", fields: &[
    Field::new("volumeID", TEXT),
    Field::new("fsType", TEXT),
    Field::new("readOnly", Type::Bool),
] };
pub static SCALE_IO_VOLUME_SOURCE: Struct = Struct { name: "v1.ScaleIOVolumeSource", fields: &[
    Field::new("gateway", TEXT),
    Field::new("system", TEXT),
    Field::new("secretRef", Type::Struct(&LOCAL_OBJECT_REFERENCE)),
    Field::new("sslEnabled", Type::Bool),
    Field::new("protectionDomain", TEXT),
    Field::new("storagePool", TEXT),
    Field::new("storageMode", TEXT),
    Field::new("volumeName", TEXT),
    Field::new("fsType", TEXT),
    Field::new("readOnly", Type::Bool),
] };
pub static STORAGE_OS_VOLUME_SOURCE: Struct = Struct { name: "v1.StorageOSVolumeSource", fields: &[
    Field::new("volumeName", TEXT),
    Field::new("volumeNamespace", TEXT),
    Field::new("fsType", TEXT),
    Field::new("readOnly", Type::Bool),
    Field::new("secretRef", Type::Struct(&LOCAL_OBJECT_REFERENCE)),
] };
pub static CSI_VOLUME_SOURCE: Struct = Struct { name: "v1.CSIVolumeSource", fields: &[
    Field::new("driver", TEXT),
    Field::new("readOnly", Type::Bool),
    Field::new("fsType", TEXT),
    Field::new("volumeAttributes", Type::Map("map[string]string", &TEXT)),
    Field::new("nodePublishSecretRef", Type::Struct(&LOCAL_OBJECT_REFERENCE)),
] };
pub static OWNER_REFERENCE: Struct = Struct { name: "v1.OwnerReference", fields: &[
    Field::new("apiVersion", TEXT),
    Field::new("kind", TEXT),
    Field::new("name", TEXT),
    Field::new("uid", Type::Text("types.UID")),
    Field::new("controller", Type::Bool),
    Field::new("blockOwnerDeletion", Type::Bool),
] };
pub static MANAGED_FIELDS_ENTRY: Struct = Struct { name: "v1.ManagedFieldsEntry", fields: &[
    Field::new("manager", TEXT),
    Field::new("operation", Type::Text("v1.ManagedFieldsOperationType")),
    Field::new("apiVersion", TEXT),
    Field::new("time", Type::Time),
    Field::new("fieldsType", TEXT),
    Field::new("fieldsV1", Type::Any),
    Field::new("subresource", TEXT),
] };
pub static OBJECT_META: Struct = Struct { name: "v1.ObjectMeta", fields: &[
    Field::new("name", TEXT),
    Field::new("generateName", TEXT),
    Field::new("namespace", TEXT),
    Field::new("selfLink", TEXT),
    Field::new("uid", Type::Text("types.UID")),
    Field::new("resourceVersion", TEXT),
    Field::new("generation", Type::Int("int64")),
    Field::new("creationTimestamp", Type::Time),
    Field::new("deletionTimestamp", Type::Time),
    Field::new("deletionGracePeriodSeconds", Type::Int("int64")),
    Field::new("labels", Type::Map("map[string]string", &TEXT)),
    Field::new("annotations", Type::Map("map[string]string", &TEXT)),
    Field::new("ownerReferences", Type::List(&Type::Struct(&OWNER_REFERENCE))),
    Field::new("finalizers", Type::List(&TEXT)),
    Field::new("managedFields", Type::List(&Type::Struct(&MANAGED_FIELDS_ENTRY))),
] };
pub static VOLUME_RESOURCE_REQUIREMENTS: Struct = Struct { name: "v1.VolumeResourceRequirements", fields: &[
    Field::new("limits", Type::Map("v1.ResourceList", &Type::Quantity)),
    Field::new("requests", Type::Map("v1.ResourceList", &Type::Quantity)),
] };
pub static TYPED_LOCAL_OBJECT_REFERENCE: Struct = Struct { name: "v1.TypedLocalObjectReference", fields: &[
    Field::new("apiGroup", TEXT),
    Field::new("kind", TEXT),
    Field::new("name", TEXT),
] };
pub static TYPED_OBJECT_REFERENCE: Struct = Struct { name: "v1.TypedObjectReference", fields: &[
    Field::new("apiGroup", TEXT),
    Field::new("kind", TEXT),
    Field::new("name", TEXT),
    Field::new("namespace", TEXT),
] };
pub static PERSISTENT_VOLUME_CLAIM_SPEC: Struct = Struct { name: "v1.PersistentVolumeClaimSpec", fields: &[
    Field::new("accessModes", Type::List(&Type::Text("v1.PersistentVolumeAccessMode"))),
    Field::new("selector", Type::Struct(&LABEL_SELECTOR)),
    Field::new("resources", Type::Struct(&VOLUME_RESOURCE_REQUIREMENTS)),
    Field::new("volumeName", TEXT),
    Field::new("storageClassName", TEXT),
    Field::new("volumeMode", Type::Text("v1.PersistentVolumeMode")),
    Field::new("dataSource", Type::Struct(&TYPED_LOCAL_OBJECT_REFERENCE)),
    Field::new("dataSourceRef", Type::Struct(&TYPED_OBJECT_REFERENCE)),
    Field::new("volumeAttributesClassName", TEXT),
] };
pub static PERSISTENT_VOLUME_CLAIM_TEMPLATE: Struct = Struct { name: "v1.PersistentVolumeClaimTemplate", fields: &[
    Field::new("metadata", Type::Struct(&OBJECT_META)),
    Field::new("spec", Type::Struct(&PERSISTENT_VOLUME_CLAIM_SPEC)),
] };
pub static EPHEMERAL_VOLUME_SOURCE: Struct = Struct { name: "v1.EphemeralVolumeSource", fields: &[
    Field::new("volumeClaimTemplate", Type::Struct(&PERSISTENT_VOLUME_CLAIM_TEMPLATE)),
] };
pub static IMAGE_VOLUME_SOURCE: Struct = Struct { name: "v1.ImageVolumeSource", fields: &[
    Field::new("reference", TEXT),
    Field::new("pullPolicy", Type::Text("v1.PullPolicy")),
] };
pub static VOLUME: Struct = Struct { name: "v1.Volume", fields: &[
    Field::new("name", TEXT),
    Field::new("hostPath", Type::Struct(&HOST_PATH_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("emptyDir", Type::Struct(&EMPTY_DIR_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("gcePersistentDisk", Type::Struct(&GCE_PERSISTENT_DISK_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("awsElasticBlockStore", Type::Struct(&AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("gitRepo", Type::Struct(&GIT_REPO_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("secret", Type::Struct(&SECRET_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("nfs", Type::Struct(&NFS_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("iscsi", Type::Struct(&ISCSI_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("glusterfs", Type::Struct(&GLUSTERFS_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("persistentVolumeClaim", Type::Struct(&PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("rbd", Type::Struct(&RBD_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("flexVolume", Type::Struct(&FLEX_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("cinder", Type::Struct(&CINDER_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("cephfs", Type::Struct(&CEPH_FS_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("flocker", Type::Struct(&FLOCKER_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("downwardAPI", Type::Struct(&DOWNWARD_API_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("fc", Type::Struct(&FC_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("azureFile", Type::Struct(&AZURE_FILE_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("configMap", Type::Struct(&CONFIG_MAP_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("vsphereVolume", Type::Struct(&VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("quobyte", Type::Struct(&QUOBYTE_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("azureDisk", Type::Struct(&AZURE_DISK_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("photonPersistentDisk", Type::Struct(&PHOTON_PERSISTENT_DISK_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("projected", Type::Struct(&PROJECTED_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("portworxVolume", Type::Struct(&PORTWORX_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("scaleIO", Type::Struct(&SCALE_IO_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("storageos", Type::Struct(&STORAGE_OS_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("csi", Type::Struct(&CSI_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("ephemeral", Type::Struct(&EPHEMERAL_VOLUME_SOURCE)).embedded("VolumeSource"),
    Field::new("image", Type::Struct(&IMAGE_VOLUME_SOURCE)).embedded("VolumeSource"),
] };
pub static VOLUME_MOUNT: Struct = Struct { name: "v1.VolumeMount", fields: &[
    Field::new("name", TEXT),
    Field::new("readOnly", Type::Bool),
    Field::new("recursiveReadOnly", Type::Text("v1.RecursiveReadOnlyMode")),
    Field::new("mountPath", TEXT),
    Field::new("subPath", TEXT),
    Field::new("mountPropagation", Type::Text("v1.MountPropagationMode")),
    Field::new("subPathExpr", TEXT),
] };
pub static NODE_SELECTOR_REQUIREMENT: Struct = Struct { name: "v1.NodeSelectorRequirement", fields: &[
    Field::new("key", TEXT),
    Field::new("operator", Type::Text("v1.NodeSelectorOperator")),
    Field::new("values", Type::List(&TEXT)),
] };
pub static NODE_SELECTOR_TERM: Struct = Struct { name: "v1.NodeSelectorTerm", fields: &[
    Field::new("matchExpressions", Type::List(&Type::Struct(&NODE_SELECTOR_REQUIREMENT))),
    Field::new("matchFields", Type::List(&Type::Struct(&NODE_SELECTOR_REQUIREMENT))),
] };
pub static NODE_SELECTOR: Struct = Struct { name: "v1.NodeSelector", fields: &[
    Field::new("nodeSelectorTerms", Type::List(&Type::Struct(&NODE_SELECTOR_TERM))),
] };
pub static PREFERRED_SCHEDULING_TERM: Struct = Struct { name: "v1.PreferredSchedulingTerm", fields: &[
    Field::new("weight", Type::Int("int32")),
    Field::new("preference", Type::Struct(&NODE_SELECTOR_TERM)),
] };
pub static NODE_AFFINITY: Struct = Struct { name: "v1.NodeAffinity", fields: &[
    Field::new("requiredDuringSchedulingIgnoredDuringExecution", Type::Struct(&NODE_SELECTOR)),
    Field::new("preferredDuringSchedulingIgnoredDuringExecution", Type::List(&Type::Struct(&PREFERRED_SCHEDULING_TERM))),
] };
pub static POD_AFFINITY_TERM: Struct = Struct { name: "v1.PodAffinityTerm", fields: &[
    Field::new("labelSelector", Type::Struct(&LABEL_SELECTOR)),
    Field::new("namespaces", Type::List(&TEXT)),
    Field::new("topologyKey", TEXT),
    Field::new("namespaceSelector", Type::Struct(&LABEL_SELECTOR)),
    Field::new("matchLabelKeys", Type::List(&TEXT)),
    Field::new("mismatchLabelKeys", Type::List(&TEXT)),
] };
pub static WEIGHTED_POD_AFFINITY_TERM: Struct = Struct { name: "v1.WeightedPodAffinityTerm", fields: &[
    Field::new("weight", Type::Int("int32")),
    Field::new("podAffinityTerm", Type::Struct(&POD_AFFINITY_TERM)),
] };
pub static POD_AFFINITY: Struct = Struct { name: "v1.PodAffinity", fields: &[
    Field::new("requiredDuringSchedulingIgnoredDuringExecution", Type::List(&Type::Struct(&POD_AFFINITY_TERM))),
    Field::new("preferredDuringSchedulingIgnoredDuringExecution", Type::List(&Type::Struct(&WEIGHTED_POD_AFFINITY_TERM))),
] };
pub static POD_ANTI_AFFINITY: Struct = Struct { name: "v1.PodAntiAffinity", fields: &[
    Field::new("requiredDuringSchedulingIgnoredDuringExecution", Type::List(&Type::Struct(&POD_AFFINITY_TERM))),
    Field::new("preferredDuringSchedulingIgnoredDuringExecution", Type::List(&Type::Struct(&WEIGHTED_POD_AFFINITY_TERM))),
] };
pub static AFFINITY: Struct = Struct { name: "v1.Affinity", fields: &[
    Field::new("nodeAffinity", Type::Struct(&NODE_AFFINITY)),
    Field::new("podAffinity", Type::Struct(&POD_AFFINITY)),
    Field::new("podAntiAffinity", Type::Struct(&POD_ANTI_AFFINITY)),
] };
pub static SUBSCRIPTION_CONFIG: Struct = Struct { name: "v1alpha1.SubscriptionConfig", fields: &[
    Field::new("selector", Type::Struct(&LABEL_SELECTOR)),
    Field::new("nodeSelector", Type::Map("map[string]string", &TEXT)),
    Field::new("tolerations", Type::List(&Type::Struct(&TOLERATION))),
    Field::new("resources", Type::Struct(&RESOURCE_REQUIREMENTS)),
    Field::new("envFrom", Type::List(&Type::Struct(&ENV_FROM_SOURCE))),
    Field::new("env", Type::List(&Type::Struct(&ENV_VAR))),
    Field::new("volumes", Type::List(&Type::Struct(&VOLUME))),
    Field::new("volumeMounts", Type::List(&Type::Struct(&VOLUME_MOUNT))),
    Field::new("affinity", Type::Struct(&AFFINITY)),
    Field::new("annotations", Type::Map("map[string]string", &TEXT)),
] };
pub static SUBSCRIPTION_SPEC: Struct = Struct { name: "v1alpha1.SubscriptionSpec", fields: &[
    Field::new("source", TEXT),
    Field::new("sourceNamespace", TEXT),
    Field::new("name", TEXT),
    Field::new("channel", TEXT),
    Field::new("startingCSV", TEXT),
    Field::new("installPlanApproval", Type::Text("v1alpha1.Approval")),
    Field::new("config", Type::Struct(&SUBSCRIPTION_CONFIG)),
] };
pub static OPERATOR_GROUP_SPEC: Struct = Struct { name: "v1.OperatorGroupSpec", fields: &[
    Field::new("selector", Type::Struct(&LABEL_SELECTOR)),
    Field::new("targetNamespaces", Type::List(&TEXT)),
    Field::new("serviceAccountName", TEXT),
    Field::new("staticProvidedAPIs", Type::Bool),
    Field::new("upgradeStrategy", Type::Text("v1.UpgradeStrategy")),
] };
