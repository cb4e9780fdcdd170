import { Button, Center } from "@mantine/core";

type Listed = {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
};

/** Reads the next page of a list, if there is one. */
export function ShowMore({ listed, text = "Show more" }: { listed: Listed; text?: string }) {
  if (!listed.hasNextPage) return null;
  return (
    <Center mt="md">
      <Button
        variant="default"
        loading={listed.isFetchingNextPage}
        onClick={() => listed.fetchNextPage()}
      >
        {text}
      </Button>
    </Center>
  );
}
