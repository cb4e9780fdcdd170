import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, messageOf } from "../api.ts";
import { useNames } from "../names.ts";
import { nameOfPerson } from "../pages/people/name-of-person.ts";
import { PEOPLE_COMPARED_MAX, search } from "../search.ts";

/** Offered before anything is typed; all others are found by name, e-mail address or id. */
const NEWEST = 100;
const TEXT_LENGTH_MIN = 2;

type SelectProps = {
  label: string;
  value: string | null;
  onChange: (id: string | null) => void;
  is_clearable?: boolean;
};
type Choice = { value: string; label: string };

/** Chooses a person by name. */
export function PersonSelect({ label, value, onChange, is_clearable = false }: SelectProps) {
  const [typed, setTyped] = useState("");
  const text = typed.trim();
  const offered = useQuery({ queryKey: ["people", "choice"], queryFn: listNewest });
  const newest = offered.data ?? [];
  const found = useQuery({
    queryKey: ["people", "search", text],
    queryFn: () => find(text),
    enabled: text.length >= TEXT_LENGTH_MIN && !newest.some((one) => one.label === text),
    placeholderData: (before) => before,
  });
  // Who is found by e-mail address or id has neither in the name.
  const found_ids = new Set(found.data?.people.map((one) => one.value));
  const matches = (one: Choice) =>
    found_ids.has(one.value) || one.label.toLowerCase().includes(text.toLowerCase());
  const { users } = useNames({ users: value ? [value] : [] });
  // Until the name is known.
  const chosen = value ? [{ value, label: users[value]?.name ?? `…${value.slice(-8)}` }] : [];
  const choices = new Map(
    [...chosen, ...(found.data?.people ?? []), ...newest].map((one) => [one.value, one]),
  );
  const failed = found.error ?? offered.error;
  return (
    <Select
      label={label}
      placeholder="Name, e-mail or id"
      searchable
      clearable={is_clearable}
      data={[...choices.values()]}
      filter={({ options }) => (options as Choice[]).filter(matches)}
      value={value}
      onChange={onChange}
      onSearchChange={setTyped}
      error={failed ? messageOf(failed) : undefined}
      nothingFoundMessage={
        offered.isPending || found.isFetching
          ? "Searching"
          : sayNobody(found.data?.people_searched ?? 0)
      }
    />
  );
}

async function listNewest(): Promise<Choice[]> {
  const { records } = await api.users.list({ limit: NEWEST }).page();
  return records.map((user) => ({
    value: user.id,
    label: `${nameOfPerson(user)} · ${user.email}`,
  }));
}

async function find(text: string): Promise<{ people: Choice[]; people_searched: number }> {
  const { hits, people_searched } = await search(text);
  const people = hits
    .filter(({ kind }) => kind === "person")
    .map(({ id, title, note }) => ({ value: id, label: note ? `${title} · ${note}` : title }));
  return { people, people_searched };
}

/** Names are stored encrypted: those of the newest people are compared. */
function sayNobody(people_searched: number): string {
  const others = "Type the whole e-mail address or the id.";
  if (people_searched < PEOPLE_COMPARED_MAX) return `Nobody found. ${others}`;
  return `Nobody among the newest ${people_searched} people has this name. ${others}`;
}
