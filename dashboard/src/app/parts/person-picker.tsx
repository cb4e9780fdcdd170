import { Button, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Hit, search } from "../search.ts";
import { Empty } from "./states.tsx";

/** Finds a person by name or e-mail address, and hands their id over. */
export function PersonPicker({ onPicked }: { onPicked: (id: string) => void }) {
  const [text, setText] = useState("");
  const { data } = useQuery({
    queryKey: ["search", text.trim()],
    queryFn: () => search(text.trim()),
    enabled: text.trim().length > 1,
    placeholderData: (before) => before,
  });
  const people = (data?.hits ?? []).filter((hit: Hit) => hit.kind === "person");
  return (
    <Stack gap="sm" className="person-picker">
      <TextInput
        label="Who is it for?"
        placeholder="Name, e-mail address or id"
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Stack gap={6} role="status">
        {people.map((hit: Hit) => (
          <Button
            key={hit.id}
            variant="default"
            justify="space-between"
            rightSection={<span className="quiet">{hit.note}</span>}
            onClick={() => onPicked(hit.id)}
          >
            {hit.title}
          </Button>
        ))}
        {data && people.length === 0 && text.trim().length > 1 && (
          <Empty title="Nobody found">
            Type the whole e-mail address, or the first letters of a name.
          </Empty>
        )}
      </Stack>
    </Stack>
  );
}
