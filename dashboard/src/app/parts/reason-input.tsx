import { Textarea } from "@mantine/core";

/** Why somebody acts: the audit log and the record's timeline show it. */
export function ReasonInput(props: {
  value: string;
  onChange: (value: string) => void;
  is_optional?: boolean;
}) {
  return (
    <Textarea
      label="Reason"
      description="For the audit log; without names or account numbers."
      required={!props.is_optional}
      maxLength={500}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}
