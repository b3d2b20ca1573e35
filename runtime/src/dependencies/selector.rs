//! Label selectors that are applied to the objects of a shared watch of the whole kind.

use reeve_go_compat::labels::Selector;

/// `None` for a selector that only the API server applies: an invalid one, or one that compares numbers. These keep
/// their own watch.
pub(super) fn parse(text: &str) -> Option<Selector> {
    Selector::parse(text)
        .ok()
        .filter(|selector| !selector.has_numeric_requirement())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a=1", true)]
    #[case("a==1", true)]
    #[case("a=2", false)]
    #[case("a!=2,b", true)]
    #[case("c!=1", true)]
    #[case("!c", true)]
    #[case("!b", false)]
    #[case("a in (2, 1), b notin (1,2)", true)]
    #[case("c in (1)", false)]
    #[case("c notin (1),a", true)]
    #[case("b=", true)]
    #[case("c=", false)]
    #[case("example.com/d = x_1 , a", true)]
    #[case("b in ()", true)]
    #[case("in", false)]
    #[case("in notin (1)", true)]
    fn equality_and_set_based_selector_matches_as_on_the_api_server(
        #[case] text: &str,
        #[case] fits: bool,
    ) {
        let labels = [("a", "1"), ("b", ""), ("example.com/d", "x_1")];
        let label = |key: &str| {
            labels
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| *value)
        };
        assert_eq!(parse(text).unwrap().matches(label), fits, "{text}");
    }

    #[rstest]
    #[case("a>1")]
    #[case("a=b=c")]
    #[case("a,")]
    #[case(",a")]
    #[case("a in 1")]
    #[case("a in (1")]
    #[case("a in (1))")]
    #[case("a inn (1)")]
    #[case("in (1)")]
    #[case("a b")]
    #[case("-a")]
    #[case("a=-")]
    #[case("A.b/c")]
    #[case("a/b/c")]
    #[case("ä=1")]
    #[case("!a=1")]
    #[case("!")]
    fn numeric_and_invalid_selectors_are_left_to_the_api_server(#[case] text: &str) {
        assert_eq!(parse(text), None, "{text}");
    }

    #[test]
    fn too_long_keys_and_values_are_left_to_the_api_server() {
        assert!(parse(&format!("a={}", "v".repeat(63))).is_some());
        assert!(parse(&format!("a={}", "v".repeat(64))).is_none());
        assert!(parse(&"k".repeat(64)).is_none());
    }
}
