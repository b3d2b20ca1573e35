//! PROP-153 and PROP-158: the status of a set.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Choice, Hubs, Via, plain, same, steadily, within};
use serde_json::{Value, json};

const REPORTING: &str = "All policies are reporting status";

fn observed(compliant: &str, placement: &[Value], message: &str) -> Value {
    let mut observed = json!({ "placement": placement, "statusMessage": message });
    if !compliant.is_empty() {
        observed["compliant"] = json!(compliant);
    }
    observed
}

/// A set bound by a choice of its name.
async fn bound<'a>(
    site: &'a reeve_scenarios::Site<'a>,
    via: Via,
    set: &str,
    policies: &[&str],
    clusters: &[&str],
) -> Result<Choice<'a>> {
    site.set(set, policies).await?;
    let choice = site.choice(via, "choice");
    choice.make().await?;
    choice.bind(&[("PolicySet", set)]).await?;
    choice.decides(clusters).await?;
    Ok(choice)
}

pub(crate) async fn follows_members(world: Arc<Hubs>, name: &'static str, via: Via) -> Result<()> {
    let site = world.site(name, &["m1", "m2"]).await?;
    let first = site.root("first");
    first.apply(plain()).await?;
    let choice = bound(&site, via, "set", &["first"], &["m1", "m2"]).await?;
    let placement = [choice.entry("choice")];
    first.reports("m1", "NonCompliant").await?;
    first.reports("m2", "Compliant").await?;
    let want = observed("NonCompliant", &placement, REPORTING);
    site.set_reports("set", want).await?;
    site.set("set", &["first", "second"]).await?;
    let deleted = "Deleted policies: second";
    site.set_reports("set", observed("NonCompliant", &placement, deleted))
        .await?;
    first.reports("m1", "Compliant").await?;
    site.set_reports("set", observed("Compliant", &placement, deleted))
        .await?;
    first.reports("m1", "Pending").await?;
    site.set("set", &["first"]).await?;
    let pending = "Policies awaiting pending dependencies: first";
    site.set_reports("set", observed("Pending", &placement, pending))
        .await?;
    first.disable(true).await?;
    let disabled = "Disabled policies: first";
    site.set_reports("set", observed("", &placement, disabled))
        .await?;
    let second = site.root("second");
    second.apply(plain()).await?;
    site.set("set", &["first", "second"]).await?;
    second.reports("m1", "Compliant").await?;
    second.reports("m2", "Compliant").await?;
    site.set_reports("set", observed("Compliant", &placement, disabled))
        .await
}

pub(crate) async fn own_bindings_only(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e46", &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = bound(&site, Via::Rule, "set", &["policy"], &["m1"]).await?;
    site.placed(Via::Rule, "direct", "policy", &["m2"]).await?;
    root.reports("m1", "NonCompliant").await?;
    root.reports("m2", "NonCompliant").await?;
    let placement = [choice.entry("choice")];
    site.set_reports("set", observed("NonCompliant", &placement, REPORTING))
        .await?;
    // What the other binding's cluster reports is not the set's business.
    root.reports("m1", "Compliant").await?;
    root.is("NonCompliant").await?;
    site.set_reports("set", observed("Compliant", &placement, REPORTING))
        .await?;
    // A binding to a rule that is not there is reported all the same.
    let missing = site.choice(Via::Rule, "missing");
    missing.bind(&[("PolicySet", "set")]).await?;
    let [known] = placement;
    let placement = [known, json!({ "placementBinding": "missing" })];
    site.set_reports("set", observed("Compliant", &placement, REPORTING))
        .await
}

pub(crate) async fn empty(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e47", &["m1"]).await?;
    bound(&site, Via::Placement, "set", &[], &["m1"]).await?;
    steadily("it has no status", || async {
        same("its status", site.set_status("set").await?, Value::Null)
    })
    .await?;
    // It reports something while it has a member, and nothing again after that.
    site.set("set", &["missing"]).await?;
    let missing = json!({ "statusMessage": "Deleted policies: missing" });
    site.set_reports("set", missing).await?;
    site.set("set", &[]).await?;
    site.set_reports("set", json!({})).await
}

pub(crate) async fn everything_at_once(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e48", &["m1"]).await?;
    for (name, disabled) in [("silent", false), ("disabled", true)] {
        let mut spec = plain();
        spec["disabled"] = json!(disabled);
        site.root(name).apply(spec).await?;
    }
    let members = ["disabled", "a-missing", "silent", "b-missing"];
    let choice = bound(&site, Via::Placement, "set", &members, &["m1"]).await?;
    let message = "Disabled policies: disabled; No status provided while awaiting policy status: silent; \
                   Deleted policies: a-missing, b-missing";
    site.set_reports("set", observed("", &[choice.entry("choice")], message))
        .await?;
    within("the missing ones are reported", || async {
        let events = site.events("PolicySet", "set").await?;
        for missing in ["a-missing", "b-missing"] {
            let note = format!(
                "Policy {missing} is in PolicySet set but could not be found in namespace {}",
                site.name
            );
            let want = ("Warning".to_owned(), "PolicyNotFound".to_owned(), note);
            ensure!(
                events.contains(&want),
                "{want:?} is not among the events {events:#?}"
            );
        }
        Ok(())
    })
    .await
}

/// Two bindings are reported in the order of their names, whichever member is read first.
pub(crate) async fn in_order(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-13", &["m1", "m2"]).await?;
    let (first, second) = (site.root("first"), site.root("second"));
    first.apply(plain()).await?;
    second.apply(plain()).await?;
    site.set("set", &["first", "second"]).await?;
    let mut entries = Vec::new();
    for (name, cluster) in [("c", "m1"), ("a", "m2"), ("b", "m2")] {
        let choice = site.choice(Via::Placement, name);
        choice.make().await?;
        choice.bind(&[("PolicySet", "set")]).await?;
        choice.decides(&[cluster]).await?;
        entries.push(choice.entry(name));
    }
    entries.sort_by_key(|entry| entry["placementBinding"].to_string());
    for root in [&first, &second] {
        root.reports("m1", "Compliant").await?;
        root.reports("m2", "Compliant").await?;
    }
    let want = observed("Compliant", &entries, REPORTING);
    site.set_reports("set", want).await?;
    // The first member on the cluster of the last binding.
    first.reports("m1", "NonCompliant").await?;
    let want = observed("NonCompliant", &entries, REPORTING);
    site.set_reports("set", want.clone()).await?;
    for round in 0..5 {
        for root in [&first, &second] {
            root.annotate("round", &round.to_string()).await?;
        }
    }
    steadily("it does not flap", || async {
        same("its status", site.set_status("set").await?, want.clone())
    })
    .await
}

/// A member without a binding is reported once it is created.
pub(crate) async fn unbound(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-14", &[]).await?;
    site.set("set", &["policy"]).await?;
    let message = |text: &str| json!({ "statusMessage": text });
    site.set_reports("set", message("Deleted policies: policy"))
        .await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let silent = "No status provided while awaiting policy status: policy";
    site.set_reports("set", message(silent)).await?;
    root.disable(true).await?;
    site.set_reports("set", message("Disabled policies: policy"))
        .await?;
    root.delete().await?;
    site.set_reports("set", message("Deleted policies: policy"))
        .await
}

/// An unchanged status is not written.
pub(crate) async fn reported_on_change(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-15", &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = bound(&site, Via::Placement, "set", &["policy"], &["m1", "m2"]).await?;
    root.reports("m1", "NonCompliant").await?;
    root.reports("m2", "Compliant").await?;
    let want = observed("NonCompliant", &[choice.entry("choice")], REPORTING);
    site.set_reports("set", want.clone()).await?;
    let note = format!(
        "Status successfully updated for policySet set in namespace {}",
        site.name
    );
    let line = (
        "Normal".to_owned(),
        "PolicySetStatusUpdate".to_owned(),
        note,
    );
    let reported = || async {
        let events = site.events("PolicySet", "set").await?;
        anyhow::Ok(events.iter().filter(|event| **event == line).count())
    };
    within("it is reported", || async {
        ensure!(reported().await? > 0, "nothing is reported");
        Ok(())
    })
    .await?;
    // The last of them may be on its way still.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let before = reported().await?;
    for compliance in ["NonCompliant", "Compliant", "NonCompliant", "Compliant"] {
        root.reports("m2", compliance).await?;
        let m2 = reeve_scenarios::on("m2", compliance);
        within("the root reports it", || async {
            same("on m2", &root.status().await?["status"][1], &m2)
        })
        .await?;
    }
    steadily("nothing new is reported", || async {
        same("its status", site.set_status("set").await?, want.clone())?;
        same("events", reported().await?, before)
    })
    .await
}
