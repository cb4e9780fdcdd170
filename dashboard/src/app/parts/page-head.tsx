import { Group, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";

/** The heading of a page, which is also the title of the tab, and its actions. */
export function PageHead({ title, children }: { title: string; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Sliproad`;
  }, [title]);
  return (
    <Group justify="space-between" className="page-head">
      <Title order={1} size="h2">
        {title}
      </Title>
      <Group gap="xs">{children}</Group>
    </Group>
  );
}
