import { listBusinessValues } from "../kyc/application-store.ts";
import type { Values } from "../kyc/fields.ts";
import { ownersIn } from "../kyc/owners.ts";
import type { ScreenedPerson } from "../partners/screening/port.ts";
import type { Session } from "../platform/db/database.ts";
import type { SubjectKeys } from "../platform/encryption/keyring.ts";
import type { UserKey } from "../users/store.ts";

/** Who acts for the companies among the users, and who owns them, as last submitted; by user. */
export async function listCompanyPeople(
  session: Session,
  users: readonly UserKey[],
  keys: SubjectKeys,
): Promise<Map<string, ScreenedPerson[]>> {
  const submitted = await listBusinessValues(session, users, keys);
  return new Map([...submitted].map(([user_id, values]) => [user_id, peopleIn(values)]));
}

function peopleIn(values: Partial<Values>): ScreenedPerson[] {
  const people = [
    toPerson({
      first_name: values.controller_first_name,
      last_name: values.controller_last_name,
      date_of_birth: values.controller_date_of_birth,
      nationality: values.controller_nationality,
    }),
    ...(ownersIn(values) ?? []).map(toPerson),
  ].filter(({ names }) => names.length > 0);
  // Whoever acts for a company often owns it as well.
  return [...new Map(people.map((person) => [JSON.stringify(person), person])).values()];
}

type Submitted = Record<
  "first_name" | "last_name" | "date_of_birth" | "nationality",
  string | null | undefined
>;

function toPerson({ first_name, last_name, date_of_birth, nationality }: Submitted) {
  const name = [first_name, last_name].filter(Boolean).join(" ");
  return {
    kind: "individual" as const,
    names: name === "" ? [] : [name],
    birth_date: date_of_birth ?? null,
    countries: nationality ? [nationality] : [],
    wallets: [],
  };
}
