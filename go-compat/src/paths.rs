//! Paths as Go writes them.

/// `path.Clean`, and `filepath.Clean` on Linux: without empty elements and `.`, and without `..` behind another element.
pub fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = path.first() == Some(&b'/');
    let mut kept: Vec<&[u8]> = Vec::new();
    for element in path.split(|byte| *byte == b'/') {
        match element {
            b"" | b"." => {}
            b".." => match kept.last() {
                Some(last) if *last != b".." => {
                    kept.pop();
                }
                _ if rooted => {}
                _ => kept.push(element),
            },
            _ => kept.push(element),
        }
    }
    let mut result = if rooted { b"/".to_vec() } else { Vec::new() };
    result.extend(kept.join(&b'/'));
    if result.is_empty() {
        result.push(b'.');
    }
    result
}
