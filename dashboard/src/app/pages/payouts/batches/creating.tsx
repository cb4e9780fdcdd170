import { Alert, Button, Group, Progress, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { messageOf } from "../../../api.ts";
import { PageHead } from "../../../parts/page-head.tsx";
import { type CreatePayouts, changeBatch, type Started } from "./batch.ts";

/** Somebody closed the page while it ran, or a step was refused: it goes on where it stopped. */
export function CreatingBatch(props: { started: Started; create: CreatePayouts }) {
  const { started, create } = props;
  const { batch } = started;
  const change = useMutation({ mutationFn: () => changeBatch(batch.id, { rows: [] }) });
  const error = create.error ?? change.error;
  return (
    <>
      <PageHead title={batch.file_name} />
      <section className="card batch-form" aria-label="Progress">
        <Stack>
          <CreationProgress started={started} />
          {error && (
            <Alert color="red" variant="light" role="alert">
              {messageOf(error)}
            </Alert>
          )}
          <Group justify="flex-end">
            {batch.is_editable && !create.isPending && (
              <Button variant="default" loading={change.isPending} onClick={() => change.mutate()}>
                Change rows
              </Button>
            )}
            <Button loading={create.isPending} onClick={() => create.mutate(batch.digest)}>
              Continue
            </Button>
          </Group>
        </Stack>
      </section>
    </>
  );
}

/** What is done: bank accounts first, then the payouts. */
function CreationProgress({ started: { batch } }: { started: Started }) {
  const { payees, payees_created, payouts, payouts_created } = batch.progress ?? NOTHING;
  const [done, all] = [payees_created + payouts_created, payees + payouts];
  return (
    <div>
      <Text mb="xs" aria-live="polite">
        {payees > 0 && `${payees_created} of ${payees} bank accounts, `}
        {payouts_created} of {payouts} payouts created
      </Text>
      <Progress value={all === 0 ? 0 : (100 * done) / all} aria-label="Created" />
    </div>
  );
}

const NOTHING = { payees: 0, payees_created: 0, payouts: 0, payouts_created: 0 };
