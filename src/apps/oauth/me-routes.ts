import Type from "typebox";
import { findMember } from "../../accounts/audited/find-member.ts";
import { openEmail } from "../../accounts/person-email.ts";
import { findAccountById, findPersonById } from "../../accounts/store.ts";
import type { Database } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute, Caller } from "../../platform/http/route.ts";
import { nullable, titledObject, UUID } from "../../platform/schema-parts.ts";

const Me = titledObject("Me", {
  user: nullable(
    Type.Object({
      sub: Type.String({ format: "uuid", description: "The person, as in the id token." }),
      email: Type.String(),
      role: Type.String({ description: "Their role in the account." }),
    }),
  ),
  account: Type.Object({ id: UUID, name: Type.String() }),
});

export function addMeRoutes(add: AddRoute, deps: { database: Database; index_key: Buffer }): void {
  add({
    method: "GET",
    path: "/me",
    operation: "showMe",
    summary: "Show the caller",
    description:
      "The account that the credential acts for. `user` is the person who authorised the " +
      "application; it is `null` for API keys and client credentials.",
    tag: "Applications",
    scope: "user:read",
    answer: Me,
    errors: [],
    handle: async ({ caller, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const [account, user] = await Promise.all([
        findAccountById(deps.database, caller.account_id),
        findUser(deps, caller),
      ]);
      const { id, name } = account!;
      return JSON.stringify({ user, account: { id, name } });
    },
  });
}

async function findUser(
  { database, index_key }: { database: Database; index_key: Buffer },
  { account_id, person_id }: Caller,
) {
  if (person_id === undefined) return null;
  const [person, member] = await Promise.all([
    findPersonById(database, person_id),
    findMember(database, account_id, person_id),
  ]);
  // The person has just left the account.
  if (!person || !member) throw new Refusal("unauthorized");
  return {
    sub: person_id,
    email: openEmail(index_key, person_id, person.email),
    role: member.role,
  };
}
