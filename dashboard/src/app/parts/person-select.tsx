import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api.ts";
import { nameOfPerson } from "../pages/people/name-of-person.ts";

/** The newest people of the account; an older one is chosen by writing the id. */
const LISTED = 100;

type SelectProps = { label: string; value: string | null; onChange: (id: string | null) => void };

/** Chooses a person by name. */
export function PersonSelect({ label, value, onChange }: SelectProps) {
  const { data } = useQuery({
    queryKey: ["people", "choice"],
    queryFn: () => api.users.list({ limit: LISTED }).page(),
  });
  const people = (data?.records ?? []).map((user) => {
    return { value: user.id, label: `${nameOfPerson(user)} · ${user.email}` };
  });
  const found = people.some((one) => one.value === value);
  const data_shown = value && !found ? [...people, { value, label: value }] : people;
  return (
    <Select
      label={label}
      placeholder="Choose by name or e-mail"
      searchable
      data={data_shown}
      value={value}
      onChange={onChange}
      nothingFoundMessage="Nobody among the newest 100 people has this name."
    />
  );
}
