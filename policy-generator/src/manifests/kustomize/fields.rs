//! The fields of a kustomization, with the types that kustomize declares for them.

use reeve_go_compat::json::typed::{Field, Struct, TEXT, Type};

const TEXTS: Type = Type::List(&TEXT);
const TEXT_MAP: Type = Type::Map("map[string]string", &TEXT);

/// A kustomization.
pub(super) const KUSTOMIZATION: Type = Type::Struct(&Struct {
    name: "types.Kustomization",
    fields: &[
        Field::new("apiVersion", TEXT).embedded("TypeMeta"),
        Field::new("kind", TEXT).embedded("TypeMeta"),
        Field::new("metadata", Type::Pointer(&METADATA)),
        Field::new("openapi", TEXT_MAP),
        Field::new("namePrefix", TEXT),
        Field::new("nameSuffix", TEXT),
        Field::new("namespace", TEXT),
        Field::new("commonLabels", TEXT_MAP),
        Field::new("labels", Type::List(&LABELS)),
        Field::new("commonAnnotations", TEXT_MAP),
        Field::new("patchesStrategicMerge", Type::List(&MERGE_PATCH)),
        Field::new("patchesJson6902", Type::List(&PATCH)),
        Field::new("patches", Type::List(&PATCH)),
        Field::new("images", Type::List(&IMAGE)),
        Field::new("imageTags", Type::List(&IMAGE)),
        Field::new("replacements", Type::Any),
        Field::new("replicas", Type::List(&REPLICAS)),
        Field::new("vars", Type::Any),
        Field::new("sortOptions", Type::Any),
        Field::new("resources", TEXTS),
        Field::new("components", TEXTS),
        Field::new("crds", TEXTS),
        Field::new("bases", TEXTS),
        Field::new("configMapGenerator", Type::List(&CONFIG_MAP)),
        Field::new("secretGenerator", Type::List(&SECRET)),
        Field::new("helmGlobals", Type::Any),
        Field::new("helmCharts", Type::Any),
        Field::new("helmChartInflationGenerator", Type::Any),
        Field::new("generatorOptions", Type::Pointer(&OPTIONS)),
        Field::new("configurations", TEXTS),
        Field::new("generators", TEXTS),
        Field::new("transformers", TEXTS),
        Field::new("validators", TEXTS),
        Field::new("buildMetadata", TEXTS),
    ],
});

/// The fields with a value beyond which the built-in kustomize does not go.
pub(super) const BEYOND: [&str; 14] = [
    "buildMetadata",
    "configurations",
    "crds",
    "generators",
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "imageTags",
    "openapi",
    "replacements",
    "sortOptions",
    "transformers",
    "validators",
    "vars",
];

const METADATA: Type = Type::Struct(&Struct {
    name: "types.ObjectMeta",
    fields: &[
        Field::new("name", TEXT),
        Field::new("namespace", TEXT),
        Field::new("labels", TEXT_MAP),
        Field::new("annotations", TEXT_MAP),
    ],
});

const MERGE_PATCH: Type = Type::Text("types.PatchStrategicMerge");

const LABELS: Type = Type::Struct(&Struct {
    name: "types.Label",
    fields: &[
        Field::new("pairs", TEXT_MAP),
        Field::new("includeSelectors", Type::Bool),
        Field::new("includeTemplates", Type::Bool),
        Field::new("includeVolumeClaimTemplates", Type::Bool),
        Field::new("fields", Type::List(&FIELD_SPEC)),
    ],
});

const FIELD_SPEC: Type = Type::Struct(&Struct {
    name: "types.FieldSpec",
    fields: &[
        Field::new("group", TEXT).embedded("Gvk"),
        Field::new("version", TEXT).embedded("Gvk"),
        Field::new("kind", TEXT).embedded("Gvk"),
        Field::new("path", TEXT),
        Field::new("create", Type::Bool),
    ],
});

const PATCH: Type = Type::Struct(&Struct {
    name: "types.Patch",
    fields: &[
        Field::new("path", TEXT),
        Field::new("patch", TEXT),
        Field::new("target", Type::Pointer(&SELECTOR)),
        Field::new("options", Type::Pointer(&PATCH_OPTIONS)),
    ],
});

const PATCH_OPTIONS: Type = Type::Struct(&Struct {
    name: "types.PatchArgs",
    fields: &[
        Field::new("allowNameChange", Type::Bool),
        Field::new("allowKindChange", Type::Bool),
    ],
});

const SELECTOR: Type = Type::Struct(&Struct {
    name: "types.Selector",
    fields: &[
        Field::new("group", TEXT).embedded("ResId.Gvk"),
        Field::new("version", TEXT).embedded("ResId.Gvk"),
        Field::new("kind", TEXT).embedded("ResId.Gvk"),
        Field::new("name", TEXT).embedded("ResId"),
        Field::new("namespace", TEXT).embedded("ResId"),
        Field::new("annotationSelector", TEXT),
        Field::new("labelSelector", TEXT),
    ],
});

const IMAGE: Type = Type::Struct(&Struct {
    name: "types.Image",
    fields: &[
        Field::new("name", TEXT),
        Field::new("newName", TEXT),
        Field::new("tagSuffix", TEXT),
        Field::new("newTag", TEXT),
        Field::new("digest", TEXT),
    ],
});

const REPLICAS: Type = Type::Struct(&Struct {
    name: "types.Replica",
    fields: &[
        Field::new("name", TEXT),
        Field::new("count", Type::Int("int64")),
    ],
});

const OPTIONS: Type = Type::Struct(&Struct {
    name: "types.GeneratorOptions",
    fields: &[
        Field::new("labels", TEXT_MAP),
        Field::new("annotations", TEXT_MAP),
        Field::new("disableNameSuffixHash", Type::Bool),
        Field::new("immutable", Type::Bool),
    ],
});

const IN_ARGUMENTS: &str = "GeneratorArgs";
const IN_SOURCES: &str = "GeneratorArgs.KvPairSources";

/// The fields that both generators have.
const GENERATOR: [Field; 8] = [
    Field::new("namespace", TEXT).embedded(IN_ARGUMENTS),
    Field::new("name", TEXT).embedded(IN_ARGUMENTS),
    Field::new("behavior", TEXT).embedded(IN_ARGUMENTS),
    Field::new("literals", TEXTS).embedded(IN_SOURCES),
    Field::new("files", TEXTS).embedded(IN_SOURCES),
    Field::new("envs", TEXTS).embedded(IN_SOURCES),
    Field::new("env", TEXT).embedded(IN_SOURCES),
    Field::new("options", Type::Pointer(&OPTIONS)).embedded(IN_ARGUMENTS),
];

const CONFIG_MAP: Type = Type::Struct(&Struct {
    name: "types.ConfigMapArgs",
    fields: &GENERATOR,
});

const SECRET: Type = Type::Struct(&Struct {
    name: "types.SecretArgs",
    fields: &{
        let [a, b, c, d, e, f, g, h] = GENERATOR;
        [a, b, c, d, e, f, g, h, Field::new("type", TEXT)]
    },
});
