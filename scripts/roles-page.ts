import { ROLES } from "../src/accounts/model.ts";
import { may, PERMISSIONS, type PermissionName, ROLE_NAMES } from "../src/accounts/roles.ts";

type Table = (head: string[], rows: string[][]) => string;

/** Which role may do what, from the table that the pages check. */
export function rolesPage(table: Table): string[] {
  const names = Object.keys(PERMISSIONS) as PermissionName[];
  return [
    "A member is a person who signs in to an account, with one role in each account. Roles apply " +
      "to the pages under `/dashboard` and to the authorization of applications. The role is read " +
      "again with every request and every vote, so a change takes effect at once.",
    table(
      ["a member may", ...ROLES.map((role) => ROLE_NAMES[role])],
      names.map((name) => [
        PERMISSIONS[name].meaning,
        ...ROLES.map((role) => (may(role, name) ? "yes" : "no")),
      ]),
    ),
    "## Members",
    "`sliproad members create`, `set-role` and `remove` change members on the command line of the " +
      "server; see [the command line](command-line.md). An account keeps at least one admin.",
    table(
      ["role", "name on the command line"],
      ROLES.map((role) => [ROLE_NAMES[role], `\`${role}\``]),
    ),
    "## API keys have no role",
    "An API key may call every route of its account. Requests that move more money than " +
      "`SLIPROAD_APPROVAL_ABOVE_USD` become proposals, and two different members have to confirm them; " +
      "a key cannot vote. Some routes take only keys of the operator's account, the first account " +
      "of the installation: bank deposits that wait for a decision, and the sandbox clock.",
    "The operator's members also review the KYC applications of all accounts.",
  ];
}
