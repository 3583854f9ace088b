"""Access control lists are stored (nothing asks them yet)."""

from __future__ import annotations


def test_rules_are_added_listed_and_removed(tool, name):
    command = "AclCommand"
    for_topic = ("--topic", name, "--allow-principal", "User:alice")
    assert f"name={name}" in tool(command, "--add", *for_topic, "--operation", "Read")
    assert "principal=User:alice, host=*, operation=READ, permissionType=ALLOW" in tool(
        command, "--list", "--topic", name
    )
    tool(
        command,
        "--add",
        "--topic",
        name,
        "--resource-pattern-type",
        "prefixed",
        "--deny-principal",
        "User:bob",
        "--operation",
        "Write",
    )
    assert "User:bob" in tool(
        command, "--list", "--topic", f"{name}-more", "--resource-pattern-type", "match"
    )
    tool(command, "--remove", "--topic", name, "--resource-pattern-type", "any", "--force")
    assert tool(command, "--list", "--topic", name).strip() == ""
