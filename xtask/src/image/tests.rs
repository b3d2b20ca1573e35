//! The image from a program that is none, which nobody has to build.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;
use tar::Archive;

use super::*;

/// The smallest program: headers for a processor, and one program header of a type.
fn program(processor: u8, header: u8) -> Vec<u8> {
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(64, 0);
    program[18] = processor;
    program[32] = 64;
    program[54] = 56;
    program[56] = 1;
    program.push(header);
    program.resize(64 + 56, 0);
    program
}

fn written(folder: &Path, content: &[u8]) -> PathBuf {
    let path = folder.join("reeve");
    fs::write(&path, content).unwrap();
    path
}

/// The regular files of the outer archive.
fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = Archive::new(archive);
    let entries = archive.entries().unwrap().map(Result::unwrap);
    let files = entries.map(|mut entry| {
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (entry.path().unwrap().display().to_string(), content)
    });
    files.collect()
}

/// What a descriptor names.
fn blob(files: &BTreeMap<String, Vec<u8>>, descriptor: &Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap();
    let blob = files[&format!("blobs/{}", digest.replace(':', "/"))].clone();
    assert_eq!(descriptor["size"], blob.len());
    blob
}

fn json(content: &[u8]) -> Value {
    serde_json::from_slice(content).unwrap()
}

#[test]
fn the_same_program_gives_the_same_image() {
    let dir = tempfile::tempdir().unwrap();
    let first = pack(&written(dir.path(), &program(62, 1))).unwrap();
    fs::remove_file(dir.path().join("reeve")).unwrap();
    let again = pack(&written(dir.path(), &program(62, 1))).unwrap();
    assert_eq!(first.digest, again.digest);
    assert!(first.archive == again.archive);
    let other = pack(&written(dir.path(), &program(183, 1))).unwrap();
    assert_ne!(first.digest, other.digest);
}

#[test]
fn the_configuration_fits_the_manifests() {
    let dir = tempfile::tempdir().unwrap();
    let image = pack(&written(dir.path(), &program(62, 1))).unwrap();
    let files = files(&image.archive);
    assert_eq!(json(&files["oci-layout"])["imageLayoutVersion"], "1.0.0");
    let index = json(&files["index.json"]);
    let named = &index["manifests"][0];
    assert_eq!(named["digest"], image.digest.as_str());
    assert_eq!(named["platform"]["architecture"], "amd64");
    let manifest = json(&blob(&files, named));
    let config = json(&blob(&files, &manifest["config"]));
    assert_eq!(config["architecture"], "amd64");
    // A number: the API server refuses a name where Pods say runAsNonRoot.
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"][0], "reeve");
    assert_eq!(config["config"]["Env"][0], "PATH=/usr/local/bin");
    let mut plain = Vec::new();
    let layer = blob(&files, &manifest["layers"][0]);
    GzDecoder::new(layer.as_slice())
        .read_to_end(&mut plain)
        .unwrap();
    let unpacked = layer::write(&program(62, 1)).unwrap().plain;
    assert!(plain == unpacked);
}

#[test]
fn the_layer_has_the_program_by_all_its_names() {
    let dir = tempfile::tempdir().unwrap();
    let layer = layer::write(&program(62, 1)).unwrap();
    let mut archive = Archive::new(layer.plain.as_slice());
    let mut paths = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        assert_eq!(header.mtime().unwrap(), 0);
        paths.push(entry.path().unwrap().display().to_string());
        entry.unpack_in(dir.path()).unwrap();
    }
    let mut sorted = paths.clone();
    sorted.sort();
    assert_eq!(paths, sorted, "in one order");

    let programs = dir.path().join("usr/local/bin");
    assert_eq!(fs::read(programs.join("reeve")).unwrap(), program(62, 1));
    let names: Vec<_> = fs::read_dir(&programs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "reeve")
        .collect();
    assert_eq!(names.len(), 4);
    for name in names {
        assert_eq!(
            fs::read_link(programs.join(&name)).unwrap(),
            Path::new("reeve")
        );
        let flags = reeve_cli::reference();
        assert!(
            flags.contains(&format!("\n## {name}\n")),
            "reeve is no {name}"
        );
    }
    let users = fs::read_to_string(dir.path().join("etc/passwd")).unwrap();
    assert!(users.contains("nonroot:x:65532:65532:"), "{users}");
    let authorities = dir.path().join("etc/ssl/certs/ca-certificates.crt");
    let authorities = fs::read_to_string(authorities).unwrap();
    assert!(authorities.matches("-----BEGIN CERTIFICATE-----").count() > 100);
}

#[test]
fn what_could_not_run_in_the_image_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&[u8], &str); 4] = [
        (
            &program(62, 3),
            "needs libraries, which the image does not have",
        ),
        (&program(40, 1), "it is for the processor 40"),
        (b"#!/bin/sh", "it is no program for 64-bit Linux"),
        (&program(62, 1)[..66], "the program ends within its headers"),
    ];
    for (content, about) in cases {
        let refused = pack(&written(dir.path(), content)).err().unwrap();
        let refused = format!("{refused:#}");
        assert!(refused.contains(about), "{refused}");
    }
}

#[test]
fn program_for_another_machine_is_not_profiled_here() {
    let other = match std::env::consts::ARCH {
        "x86_64" => Machine::Arm64,
        _ => Machine::Amd64,
    };
    let refused = profile_guided::build(target_of(other)).unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("does not run on this machine"),
        "{refused}"
    );
}
