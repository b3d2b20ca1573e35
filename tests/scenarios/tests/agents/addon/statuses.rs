//! Reports about templates to the statuses of policies, on both clusters.

use std::sync::Arc;

use anyhow::{Result, ensure};
use jiff::Timestamp;
use kube::ResourceExt as _;
use reeve_scenarios::{Agents, CONFIGURATION, Mode, POLICY, Replicated, configuration, holds};
use reeve_testkit::Object;
use serde_json::{Value, json};

/// A policy with `ConfigurationPolicy` templates of these names.
async fn with<'a>(
    world: &'a Agents,
    mode: Mode,
    name: &str,
    templates: &[&str],
) -> Result<Replicated<'a>> {
    let policy = world.place(mode)?.policy(name);
    let templates: Vec<Value> = templates
        .iter()
        .map(|template| configuration(template, "inform"))
        .collect();
    policy.apply("inform", &templates).await?;
    Ok(policy)
}

pub(crate) async fn follows_events(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c02-events";
    let policy = with(&world, mode, name, &[name]).await?;
    policy.report(name, "Compliant; no violation").await?;
    policy.is("Compliant").await?;
    policy
        .reports("status was updated in cluster namespace")
        .await?;
    let place = policy.place();
    if place.copies() {
        let want = format!(
            "Policy {name} status was updated to Compliant in cluster namespace {}",
            place.hub_namespace
        );
        reeve_scenarios::within("the hub has the news", || async {
            let observed = policy.observed_on_hub().await?;
            ensure!(observed.contains(&want), "{observed:#?}");
            Ok(())
        })
        .await?;
    }
    policy.delete().await?;
    policy.gone().await?;

    let name = "case-c02-violation";
    let policy = with(&world, mode, name, &[name]).await?;
    let event = policy
        .report(name, "NonCompliant; there is violation")
        .await?;
    let reported = policy.is("NonCompliant").await?;
    ensure!(reported.templates() == [name], "{reported}");
    let history = reported.history(name);
    ensure!(
        history.len() == 1 && history[0].event == event,
        "{reported}"
    );
    ensure!(history[0].message == "NonCompliant; there is violation");
    Ok(())
}

pub(crate) async fn hub_restored(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c02-cleared";
    let policy = with(&world, mode, name, &[name]).await?;
    policy
        .report(name, "NonCompliant; there is violation")
        .await?;
    let before = policy.is("NonCompliant").await?;
    let place = policy.place();
    let cleared = json!({ "status": null });
    place
        .hub
        .patch_status(POLICY.0, POLICY.1, Some(place.hub_namespace), name, cleared)
        .await?;
    policy
        .until("as before", |reported| *reported == before)
        .await?;
    Ok(())
}

pub(crate) async fn ten_at_most(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c02-ten";
    let policy = with(&world, mode, name, &[name]).await?;
    for number in 1..=12 {
        let compliance = ["Compliant", "NonCompliant"][number % 2];
        let message = format!("{compliance}; number {number}");
        policy.report(name, &message).await?;
    }
    let expected = |newest: usize| -> Vec<String> {
        let of = |number: usize| {
            let compliance = ["Compliant", "NonCompliant"][number % 2];
            format!("{compliance}; number {number}")
        };
        (newest - 9..=newest).rev().map(of).collect()
    };
    policy
        .until("the newest ten", |reported| {
            reported.messages(name) == expected(12)
        })
        .await?;
    policy.report(name, "NonCompliant; number 13").await?;
    let reported = policy
        .until("the newest ten", |reported| {
            reported.messages(name) == expected(13)
        })
        .await?;
    ensure!(reported.compliance() == "NonCompliant", "{reported}");
    Ok(())
}

pub(crate) async fn unknown_template(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["case-c03-unknown-a", "case-c03-unknown-b"];
    let policy = with(&world, mode, "case-c03-unknown", &names).await?;
    policy
        .report("case-c03-unknown-c", "Compliant; fine")
        .await?;
    policy
        .stays("unknown", |reported| reported.compliance().is_empty())
        .await?;
    let reported = policy.reported().await?;
    ensure!(reported.templates() == names, "{reported}");
    Ok(())
}

pub(crate) async fn all_must_answer(world: Arc<Agents>, mode: Mode) -> Result<()> {
    for first in 0..2 {
        let policy = format!("case-c03-both-{first}");
        let names = [format!("{policy}-a"), format!("{policy}-b")];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (one, other) = (names[first], names[1 - first]);
        let policy = with(&world, mode, &policy, &names).await?;
        policy.report(one, "Compliant; fine").await?;
        policy
            .until("one has answered", |reported| {
                reported.compliance_of(one) == "Compliant"
                    && reported.compliance_of(other).is_empty()
            })
            .await?;
        policy
            .stays("unknown", |reported| reported.compliance().is_empty())
            .await?;
        policy.report(other, "Compliant; fine").await?;
        policy.is("Compliant").await?;
        policy.report(one, "NonCompliant; violation").await?;
        let reported = policy.is("NonCompliant").await?;
        ensure!(reported.compliance_of(other) == "Compliant", "{reported}");
        policy.report(one, "Compliant; fine").await?;
        policy.is("Compliant").await?;
        policy.report(other, "NonCompliant; violation").await?;
        policy.is("NonCompliant").await?;
    }
    Ok(())
}

pub(crate) async fn removed_template(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["case-c03-removed-a", "case-c03-removed-b"];
    let policy = with(&world, mode, "case-c03-removed", &names).await?;
    policy.report(names[0], "NonCompliant; violation").await?;
    policy.report(names[1], "Compliant; fine").await?;
    policy.is("NonCompliant").await?;
    policy
        .apply("inform", &[configuration(names[1], "inform")])
        .await?;
    let reported = policy.is("Compliant").await?;
    ensure!(reported.templates() == names[1..], "{reported}");
    Ok(())
}

/// Writes the history of a template object, as its controller does.
async fn write_history(
    policy: &Replicated<'_>,
    name: &str,
    entries: &[(&str, &str)],
) -> Result<()> {
    let history: Vec<Value> = entries
        .iter()
        .map(|(at, message)| json!({ "lastTimestamp": at, "message": message }))
        .collect();
    let (place, status) = (policy.place(), json!({ "status": { "history": history } }));
    place
        .managed
        .patch_status(
            CONFIGURATION.0,
            CONFIGURATION.1,
            Some(place.namespace),
            name,
            status,
        )
        .await?;
    Ok(())
}

pub(crate) async fn merges(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c04-merged";
    let policy = with(&world, mode, name, &[name]).await?;
    policy.template(name, |_| true).await?;
    policy.report(name, "Compliant; first").await?;
    policy.is("Compliant").await?;
    policy.forget_events().await?;
    policy.report(name, "NonCompliant; second").await?;
    policy.report(name, "NonCompliant; third").await?;
    let length = |want: usize| {
        move |reported: &reeve_scenarios::ReportedStatus| reported.history(name).len() == want
    };
    policy.until("three", length(3)).await?;

    let old = ("2024-08-22T16:26:56.163850Z", "NonCompliant; long ago");
    let new = ("2048-08-22T16:26:56.163850Z", "NonCompliant; in the future");
    write_history(&policy, name, &[new, old]).await?;
    let reported = policy.until("five", length(5)).await?;
    let history = reported.history(name);
    let event = |at: &str| -> Result<String> {
        let at: Timestamp = at.parse()?;
        Ok(reeve_runtime::events::event_name(name, at))
    };
    ensure!(history[0].event == event(new.0)?, "{reported}");
    ensure!(history[4].event == event(old.0)?, "{reported}");
    ensure!(history[0].at == "2048-08-22T16:26:56Z", "{reported}");

    // The same report as an event too.
    let at = new.0.parse()?;
    policy.event(&event(new.0)?, name, new.1, (at, 1)).await?;
    policy.stays("five", length(5)).await?;

    let extra = ("2036-08-22T16:26:56.163850Z", "NonCompliant; later");
    write_history(&policy, name, &[new, extra, old]).await?;
    let reported = policy.until("six", length(6)).await?;
    ensure!(
        reported.history(name)[1].event == event(extra.0)?,
        "{reported}"
    );

    write_history(&policy, name, &[new, old]).await?;
    policy.stays("six", length(6)).await?;
    // The same report, with a time that lost some digits on its way.
    let near: Timestamp = "2036-08-22T16:26:56.163853Z".parse()?;
    let near_name = reeve_runtime::events::event_name(name, near);
    policy.event(&near_name, name, extra.1, (near, 1)).await?;
    policy.stays("six", length(6)).await?;
    // What is not of the form is no report.
    write_history(
        &policy,
        name,
        &[("2040-08-22T16:26:56Z", "NonCompliant; odd"), new],
    )
    .await?;
    policy.stays("six", length(6)).await
}

pub(crate) async fn event_names_of_history(world: Arc<Agents>, mode: Mode) -> Result<()> {
    // The names that upstream's test expects, whose times are those of its test data.
    let name = "case4-test-policy";
    let policy = with(&world, mode, name, &[name]).await?;
    policy.template(name, |_| true).await?;
    let entries = [
        ("2049-04-12T23:22:06.286450Z", "NonCompliant; newest"),
        ("2024-12-21T12:23:36.524808Z", "NonCompliant; oldest"),
    ];
    let at = |nanoseconds: i128| -> Result<String> {
        let at = Timestamp::from_nanosecond(nanoseconds)?;
        Ok(at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
    };
    let newest = at(0x2296_a049_fe5e_2a08)?;
    let oldest = at(0x1813_dd02_4f3c_2a08)?;
    write_history(
        &policy,
        name,
        &[(&newest, entries[0].1), (&oldest, entries[1].1)],
    )
    .await?;
    let reported = policy.is("NonCompliant").await?;
    let events: Vec<String> = reported
        .history(name)
        .into_iter()
        .map(|entry| entry.event)
        .collect();
    let want = [
        "case4-test-policy.2296a049fe5e2a08",
        "case4-test-policy.1813dd024f3c2a08",
    ];
    ensure!(events == want, "{reported}");
    Ok(())
}

pub(crate) async fn messages(world: Arc<Agents>, mode: Mode) -> Result<()> {
    for (number, (message, want, compliance)) in [
        (
            "(combined from similar events): NonCompliant; violation",
            "NonCompliant; violation",
            "NonCompliant",
        ),
        (
            "(combined from similar events): Compliant; notification",
            "Compliant; notification",
            "Compliant",
        ),
        ("NonCompliant", "NonCompliant", "NonCompliant"),
        ("Compliant", "Compliant", "Compliant"),
        ("Pending; waits", "Pending; waits", "Pending"),
        (
            "UnknownCompliancy; odd",
            "UnknownCompliancy; odd",
            "NonCompliant",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("case-c06-{number}");
        let policy = with(&world, mode, &name, &[&name]).await?;
        policy.report(&name, message).await?;
        let reported = policy.is(compliance).await?;
        ensure!(reported.messages(&name) == [want], "{reported}");
    }
    Ok(())
}

pub(crate) async fn same_second(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c11-second";
    let policy = with(&world, mode, name, &[name]).await?;
    let second: i128 = 1_691_000_000_000_000_000;
    for (nanoseconds, message, compliance) in [
        (111_111_111, "Compliant; first", "Compliant"),
        (222_222_222, "NonCompliant; second", "NonCompliant"),
        (333_333_333, "Compliant; third", "Compliant"),
    ] {
        let at = Timestamp::from_nanosecond(second + nanoseconds)?;
        let event = reeve_runtime::events::event_name(name, at);
        policy.event(&event, name, message, (at, 1)).await?;
        policy.is(compliance).await?;
        policy
            .stays(compliance, |reported| reported.compliance() == compliance)
            .await?;
    }
    Ok(())
}

/// FWK-64.
pub(crate) async fn not_sticky(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["rough-edge-13-a", "rough-edge-13-b", "rough-edge-13-c"];
    let policy = with(&world, mode, "rough-edge-13-sticky", &names[..2]).await?;
    policy.report(names[0], "NonCompliant; violation").await?;
    policy.report(names[1], "Compliant; fine").await?;
    policy.is("NonCompliant").await?;
    let templates = [names[1], names[2]].map(|name| configuration(name, "inform"));
    policy.apply("inform", &templates).await?;
    let reported = policy
        .until("the violation is gone", |reported| {
            reported.templates() == names[1..] && reported.compliance() != "NonCompliant"
        })
        .await?;
    ensure!(reported.compliance_of(names[2]).is_empty(), "{reported}");
    Ok(())
}

/// FWK-63.
pub(crate) async fn counted_up(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-14-counted";
    let policy = with(&world, mode, name, &[name]).await?;
    let start = Timestamp::now();
    let at = |seconds: i64| Timestamp::from_second(start.as_second() + seconds);
    let event = |seconds: i64| -> Result<String> {
        Ok(reeve_runtime::events::event_name(name, at(seconds)?))
    };
    let (a, b) = (event(0)?, event(10)?);
    let (one, other) = ("NonCompliant; violation", "Compliant; fine");
    policy.event(&a, name, one, (at(0)?, 1)).await?;
    policy.is("NonCompliant").await?;
    policy.event(&b, name, other, (at(10)?, 1)).await?;
    policy.is("Compliant").await?;
    policy.event(&a, name, one, (at(20)?, 2)).await?;
    policy.is("NonCompliant").await?;
    // A word of hexadecimal digits is no time.
    let letters = format!("{name}.cafe");
    policy.event(&letters, name, other, (at(30)?, 1)).await?;
    let reported = policy.is("Compliant").await?;
    ensure!(reported.history(name)[0].event == letters, "{reported}");
    Ok(())
}

/// FWK-63.
pub(crate) async fn no_flapping(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-16-ties";
    let policy = with(&world, mode, name, &[name]).await?;
    let at = Timestamp::now();
    for letter in ["b", "c", "a"] {
        let message = format!("NonCompliant; {letter}");
        let event = format!("{name}.made-{letter}");
        policy.event(&event, name, &message, (at, 1)).await?;
    }
    let want = ["c", "b", "a"].map(|letter| format!("NonCompliant; {letter}"));
    policy
        .until("by name", |reported| reported.messages(name) == want)
        .await?;
    let version = |object: &Object| object.resource_version();
    let before = version(&policy.on_hub().await?);
    // Something else makes it look again.
    let other = "rough-edge-16-nobody";
    holds("nothing is written", || async {
        policy.report(other, "Compliant; fine").await?;
        let now = version(&policy.on_hub().await?);
        ensure!(now == before, "{now:?} after {before:?}");
        Ok(())
    })
    .await
}

/// FWK-40.
pub(crate) async fn without_last_timestamp(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-22-new-events";
    let policy = with(&world, mode, name, &[name]).await?;
    let place = policy.place();
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": { "name": format!("{name}.foreign"), "namespace": place.namespace },
        "regarding": {
            "apiVersion": POLICY.0, "kind": POLICY.1, "name": name,
            "namespace": place.namespace, "uid": policy.copy().await?.uid()
        },
        "eventTime": "2026-05-07T21:09:35.123456Z",
        "reason": format!("policy: {}/{name}", place.namespace), "action": "Told",
        "note": "NonCompliant; by the newer API", "type": "Warning",
        "reportingController": "scenarios", "reportingInstance": "scenarios-1"
    });
    place.managed.apply(&event.to_string()).await?;
    let reported = policy.is("NonCompliant").await?;
    ensure!(
        reported.history(name)[0].at == "2026-05-07T21:09:35Z",
        "{reported}"
    );
    Ok(())
}
