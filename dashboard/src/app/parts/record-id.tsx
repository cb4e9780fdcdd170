import { ActionIcon, CopyButton, Tooltip } from "@mantine/core";
import { Icon } from "./icons.tsx";

/** The end of an id, which is enough to tell records apart, and a button to copy all of it. */
export function RecordId({ id }: { id: string }) {
  return (
    <span className="record-id">
      <code title={id}>…{id.slice(-8)}</code>
      <Copy text={id} label="Copy id" />
    </span>
  );
}

export function Copy({ text, label }: { text: string; label: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? "Copied" : label} withArrow>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={copied ? "Copied" : label}
            onClick={(event) => {
              event.stopPropagation();
              copy();
            }}
          >
            <Icon name={copied ? "approvals" : "copy"} size={14} />
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}
