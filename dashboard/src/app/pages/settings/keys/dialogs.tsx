import { Checkbox, Radio, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import {
  type ApiKey,
  createKey,
  LIFETIMES,
  type MadeKey,
  type NewKey,
  revokeKey,
  rotateKey,
  type Scope,
} from "./key.ts";

type Form = { name: string; way: "some" | "all"; scopes: string[]; networks: string; days: string };

const BLANK: Form = { name: "", way: "some", scopes: ["read"], networks: "", days: "90" };

/** A new key, by default one that can only read. */
export function CreateKeyDialog(props: {
  scopes: readonly Scope[];
  onMade: (key: MadeKey) => void;
  onClose: () => void;
}) {
  const { scopes, onMade, onClose } = props;
  const [form, setForm] = useState(BLANK);
  const onChange = (changes: Partial<Form>) => setForm({ ...form, ...changes });
  return (
    <FormDialog
      title="Create API key"
      act="Create key"
      is_ready={form.name.trim() !== "" && (form.way === "all" || form.scopes.length > 0)}
      send={() => createKey(keyOf(form))}
      onDone={onMade}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="What the key is for."
        required
        maxLength={100}
        data-autofocus
        value={form.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <ScopeChoice form={form} scopes={scopes} onChange={onChange} />
      <Select
        label="Ends"
        data={LIFETIMES}
        allowDeselect={false}
        value={form.days}
        onChange={(days) => onChange({ days: days ?? "90" })}
      />
      <Textarea
        label="Allowed addresses"
        description="IP addresses or networks such as 203.0.113.0/24, one on each line. Empty: any."
        rows={2}
        spellCheck={false}
        value={form.networks}
        onChange={(event) => onChange({ networks: event.currentTarget.value })}
      />
    </FormDialog>
  );
}

function ScopeChoice(props: {
  form: Form;
  scopes: readonly Scope[];
  onChange: (changes: Partial<Form>) => void;
}) {
  const { form, scopes, onChange } = props;
  return (
    <>
      <Radio.Group
        label="May do"
        value={form.way}
        onChange={(way) => onChange({ way: way as Form["way"] })}
      >
        <Stack gap={6} mt="xs">
          <Radio value="some" label="Only what is chosen here" />
          <Radio value="all" label="Everything, also what is added later" />
        </Stack>
      </Radio.Group>
      {form.way === "some" && (
        <Checkbox.Group
          label="Scopes"
          value={form.scopes}
          onChange={(chosen) => onChange({ scopes: chosen })}
        >
          <Stack gap={8} mt="xs">
            {scopes.map(({ name, meaning }) => (
              <Checkbox key={name} value={name} label={name} description={withCode(meaning)} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </>
  );
}

/** What stands between backticks is code. */
function withCode(text: string): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a constant text do not move
  return text.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part));
}

function keyOf(form: Form): NewKey {
  const networks = form.networks.split(/\s+/).filter((line) => line !== "");
  return {
    name: form.name,
    scopes: form.way === "all" ? null : form.scopes,
    networks: networks.length > 0 ? networks : null,
    expires_in_days: daysOf(form.days),
  };
}

function daysOf(text: string): number | null {
  return text === "0" ? null : Number(text);
}

const OVERLAPS = [
  { value: "24", label: "24 hours" },
  { value: "1", label: "1 hour" },
  { value: "168", label: "7 days" },
  { value: "0", label: "None: the old key ends at once" },
];

export function RotateDialog(props: {
  of: ApiKey;
  onMade: (key: MadeKey) => void;
  onClose: () => void;
}) {
  const { of: key, onMade, onClose } = props;
  const [hours, setHours] = useState("24");
  const [days, setDays] = useState("90");
  const rotation = { overlap_hours: Number(hours), expires_in_days: daysOf(days) };
  return (
    <FormDialog
      title={`Rotate ${key.name}`}
      act="Create the new key"
      send={() => rotateKey(key, rotation)}
      onDone={onMade}
      onClose={onClose}
    >
      <Text size="sm">
        A new key with the same rights replaces …{key.last_four}. Both work during the overlap, so
        that programs can change over.
      </Text>
      <Select
        label="Overlap"
        data={OVERLAPS}
        allowDeselect={false}
        value={hours}
        onChange={(next) => setHours(next ?? "24")}
      />
      <Select
        label="The new key ends"
        data={LIFETIMES}
        allowDeselect={false}
        value={days}
        onChange={(next) => setDays(next ?? "90")}
      />
    </FormDialog>
  );
}

export function RevokeDialog({ of: key, onClose }: { of: ApiKey; onClose: () => void }) {
  return (
    <FormDialog
      title={`Revoke ${key.name}`}
      act="Revoke"
      is_dangerous
      send={() => revokeKey(key)}
      onClose={onClose}
    >
      <Text size="sm">
        Programs that use {key.prefix}…{key.last_four} are refused at once. This cannot be taken
        back.
      </Text>
    </FormDialog>
  );
}
