import { Alert, Button, Skeleton, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { messageOf } from "../api.ts";

const SHOWN_AFTER_MS = 150;
const ROWS = ["a", "b", "c", "d", "e", "f"];

/** Nothing at first: most answers arrive before it would be read. */
export function Loading() {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SHOWN_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown) return <div className="loading" aria-busy="true" />;
  return (
    <Stack gap="sm" aria-busy="true" aria-label="Loading" role="status">
      {ROWS.map((row) => (
        <Skeleton key={row} height={32} />
      ))}
    </Stack>
  );
}

/** Where a list has nothing to show: what it will show, and one action. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <Stack className="empty" align="center" gap="xs">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children && <Text c="dimmed">{children}</Text>}
      {action}
    </Stack>
  );
}

export function Failure(props: {
  error: unknown;
  onRetry?: () => void;
  /** What was read before is still on the page. */
  is_update?: boolean;
}) {
  const { error, onRetry, is_update = false } = props;
  const title = is_update ? "This is not up to date" : "This could not be shown";
  const request_id = (error as { request_id?: string | null }).request_id;
  return (
    <Alert color="red" variant="light" title={title} role="alert">
      <Text size="sm">{messageOf(error)}</Text>
      {request_id && (
        <Text size="xs" mt="xs">
          Request <code>{request_id}</code>
        </Text>
      )}
      {onRetry && (
        <Button mt="sm" size="xs" variant="default" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}
