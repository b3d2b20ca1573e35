//! The real Gatekeeper on a plane.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reeve_testkit::{Gatekeeper, Plane, PlaneOptions, eventually, install_gatekeeper_crds};

#[tokio::test]
async fn gatekeeper_defines_kind_of_template() -> Result<()> {
    let plane = Plane::start(PlaneOptions {
        name: "gatekeeper",
        ..PlaneOptions::default()
    })
    .await?;
    install_gatekeeper_crds(plane.objects()).await?;
    let _gatekeeper = Gatekeeper::start(&plane).await?;
    let template = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: nothing}
spec:
  crd: {spec: {names: {kind: Nothing}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package nothing
      violation[{"msg": msg}] { msg := input.review.object.data.never }
"#;
    plane.apply(template).await?;
    eventually("the template is taken", Duration::from_secs(30), || async {
        let api = "templates.gatekeeper.sh/v1";
        let found = plane
            .get(api, "ConstraintTemplate", None, "nothing")
            .await?;
        let found = found.context("it is gone")?;
        ensure!(
            found.data["status"]["created"] == true,
            "{}",
            found.data["status"]
        );
        plane
            .kind("constraints.gatekeeper.sh/v1beta1", "Nothing")
            .await?;
        Ok::<_, anyhow::Error>(())
    })
    .await
}
