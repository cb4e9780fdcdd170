import { Button, Checkbox, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { Copy } from "./record-id.tsx";

export type Secret = { name: string; value: string };

/** Secrets that are shown this one time: only who says that they stored them goes on. */
export function SecretDialog(props: {
  title: string;
  secrets: readonly Secret[];
  note?: string;
  onClose: () => void;
}) {
  const { title, secrets, note, onClose } = props;
  const [isStored, setStored] = useState(false);
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      closeOnEscape={false}
      closeOnClickOutside={false}
      withCloseButton={false}
    >
      <Stack>
        <Text size="sm">Store this now, where you keep passwords: it is not shown again.</Text>
        {secrets.map(({ name, value }) => (
          <TextInput
            key={name}
            label={name}
            readOnly
            value={value}
            classNames={{ input: "secret" }}
            rightSection={<Copy text={value} label={`Copy ${name.toLowerCase()}`} />}
          />
        ))}
        {note && (
          <Text size="sm" c="dimmed">
            {note}
          </Text>
        )}
        <Checkbox
          label="I stored it"
          checked={isStored}
          onChange={(event) => setStored(event.currentTarget.checked)}
        />
        <Group justify="flex-end">
          <Button disabled={!isStored} onClick={onClose}>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
