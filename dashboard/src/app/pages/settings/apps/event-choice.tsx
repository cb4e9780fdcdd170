import { Checkbox, Stack, Text } from "@mantine/core";
import { INVOICE_EVENTS, RAMP_EVENTS } from "./app.ts";

/** Which events an app receives. Those of invoices always: the contract says so. */
export function EventChoice(props: {
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}) {
  return (
    <Checkbox.Group
      label="Events"
      description="It receives the events of invoices in any case."
      value={[...props.chosen]}
      onChange={props.onChange}
    >
      <Stack gap={6} mt="xs">
        {Object.entries(RAMP_EVENTS).map(([name, means]) => (
          <Checkbox key={name} value={name} label={means} description={name} />
        ))}
      </Stack>
      <details className="more">
        <summary>Events of invoices</summary>
        <ul className="plain-list">
          {Object.entries(INVOICE_EVENTS).map(([name, means]) => (
            <li key={name}>
              <code>{name}</code>{" "}
              <Text span size="sm" c="dimmed">
                {means}
              </Text>
            </li>
          ))}
        </ul>
      </details>
    </Checkbox.Group>
  );
}
