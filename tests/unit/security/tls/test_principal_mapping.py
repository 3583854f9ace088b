"""`ssl.principal.mapping.rules`. The cases of Kafka's SslPrincipalMapperTest, and what Java does that Python does not."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.security.tls.principal_mapping import MappingRule, parse_mapping_rules

DEFAULT = MappingRule(None)


def rule(pattern: str, replacement: str, case: str = "") -> MappingRule:
    return MappingRule(pattern, replacement, case)


@pytest.mark.parametrize(
    "text",
    [
        "DEFAULT",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, DEFAULT",
        "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/",
        "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L",
        "RULE:^cn=(.?),ou=(.?),dc=(.?),dc=(.?)$/$1@$2/U",
        "RULE:^CN=([^,ADEFLTU,]+)(,.*|$)/$1/",
        "RULE:^CN=([^,DEFAULT,]+)(,.*|$)/$1/",
    ],
)
def test_valid_rules(text: str) -> None:
    assert parse_mapping_rules(text).rules


@pytest.mark.parametrize(
    "text",
    [
        "default",
        "DEFAUL",
        "DEFAULT/L",
        "DEFAULT/U",
        "RULE:CN=(.*?),OU=ServiceUsers.*/$1",
        "rule:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/L",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/LU",
    ],
)
def test_invalid_rules(text: str) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules: .* is no rule"):
        parse_mapping_rules(text)


@pytest.mark.parametrize(
    ("distinguished_name", "expected"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
        ("cN=duke,OU=JavaSoft,O=Sun Microsystems", "DUKE"),
        ("OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"),
    ],
)
def test_the_first_rule_that_is_the_whole_name_counts(
    distinguished_name: str, expected: str
) -> None:
    mapping = parse_mapping_rules(
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, "
        "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, "
        "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U, "
        "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U, "
        "DEFAULT"
    )
    assert mapping.name_for(distinguished_name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("DEFAULT", [DEFAULT]),
        ("RULE://", [rule("", "")]),
        ("RULE:/.*/", [rule("", ".*")]),
        ("RULE:/.*/L", [rule("", ".*", "L")]),
        ("RULE://,DEFAULT", [rule("", ""), DEFAULT]),
        ("  RULE:// ,  DEFAULT  ", [rule("", ""), DEFAULT]),
        ("  RULE:   /     / ,  DEFAULT  ", [rule("   ", "     "), DEFAULT]),
        ("  RULE:  /     /U   ,DEFAULT  ", [rule("  ", "     ", "U"), DEFAULT]),
        ("  RULE:([A-Z]*)/$1/U   ,RULE:([a-z]+)/$1/,   DEFAULT  ", [rule("([A-Z]*)", "$1", "U"), rule("([a-z]+)", "$1"), DEFAULT]),
        (",   , , ,      , , ,   ", []),
        (",,RULE://,,,DEFAULT,,", [rule("", ""), DEFAULT]),
        (",  , RULE: /   /    ,,,   DEFAULT, ,   ", [rule(" ", "   "), DEFAULT]),
        ("     ,  , RULE:   /  /U    ,,  ,DEFAULT, ,", [rule("   ", "  ", "U"), DEFAULT]),
        (r"RULE:\/\\\(\)\n\t/\/\//", [rule(r"\/\\\(\)\n\t", r"\/\/")]),
        (r"RULE:\**\/+/*/L,RULE:\/*\**/**/", [rule(r"\**\/+", "*", "L"), rule(r"\/*\**", "**")]),
        (
            r"RULE:,RULE:,/,RULE:,\//U,RULE:,/RULE:,/,RULE:,RULE:,/L,RULE:,/L,RULE:, DEFAULT, /DEFAULT/,DEFAULT",
            [
                rule(",RULE:,", r",RULE:,\/", "U"), rule(",", "RULE:,"), rule(",RULE:,", "L,RULE:,", "L"),
                rule(", DEFAULT, ", "DEFAULT"), DEFAULT,
            ],
        ),
    ],
)  # fmt: skip
def test_how_rules_are_told_apart(text: str, expected: list[MappingRule]) -> None:
    assert list(parse_mapping_rules(text).rules) == expected


def test_a_comma_in_a_name() -> None:
    mapping = parse_mapping_rules(r"RULE:^CN=((\\, *|\w)+)(,.*|$)/$1/,DEFAULT")
    assert mapping.name_for(r"CN=Tkac\, Adam,OU=ITZ,DC=geodis,DC=cz") == r"Tkac\, Adam"


def test_who_fits_no_rule_has_no_name() -> None:
    assert parse_mapping_rules("RULE:^CN=(.*)$/$1/").name_for("O=Org") is None
    assert parse_mapping_rules("").name_for("CN=a") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RULE:.*/X/", "XX"),  # as Java replaces, also the empty rest (tried with Java 17)
        ("RULE:CN=(.*)/$12-$1/", "duke2-duke"),  # no group 12: group 1 and a 2 (tried)
        ("RULE:CN=(.*)/$1@$4/", "duke@$4"),  # no group 4: text
        ("RULE:CN=(.*)/$0/", "CN=duke"),
        (r"RULE:CN=(.*)/\$1/", "$1"),
        ("RULE:CN=(?<who>.*)/${who}/U", "DUKE"),
    ],
)
def test_replacements_are_javas(text: str, expected: str) -> None:
    assert parse_mapping_rules(text).name_for("CN=duke") == expected


def test_classes_are_those_of_ascii() -> None:
    assert parse_mapping_rules(r"RULE:CN=(\w+)/$1/").name_for("CN=Jörg") is None


@pytest.mark.parametrize(
    "text",
    [
        r"RULE:CN=(\p{Alpha}+)/$1/", "RULE:CN=([a-z&&[^x]]+)/$1/", "RULE:CN=(.*/$1/", r"RULE:CN=(.*)\Z/$1/",
        "RULE:CN=.*/$1/", "RULE:CN=(.*)/$x/", "RULE:CN=(.*)/${who}/",
    ],
)  # fmt: skip
def test_what_would_mean_something_else_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules: "):
        parse_mapping_rules(text)
