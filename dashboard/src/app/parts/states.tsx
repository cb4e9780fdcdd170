import { Alert, Anchor, Button, Skeleton, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { Link } from "wouter";
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
  is_page = false,
}: {
  title: string;
  /** It stands for the whole page. */
  is_page?: boolean;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <Stack className="empty" align="center" gap="xs">
      <Title order={is_page ? 1 : 2} size="h4">
        {title}
      </Title>
      {children && <Text c="dimmed">{children}</Text>}
      {action}
    </Stack>
  );
}

/** For an address that leads to nothing. */
export function NoSuchPage({ name, path }: { name: string; path: string }) {
  return (
    <Empty
      is_page
      title="There is no such page"
      action={
        <Anchor component={Link} href={path}>
          {name}
        </Anchor>
      }
    >
      Check the address, or go on from here.
    </Empty>
  );
}

/** For a page that the role may not see. */
export function NotForYou() {
  return (
    <Empty is_page title="You cannot see this page">
      Ask an admin if you need it.
    </Empty>
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
