import { Alert, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { api, messageOf, queries } from "../../api.ts";

/** Asks before a bank account is closed for good. */
export function DeactivateDialog(props: {
  user_id: string;
  id: string;
  name: string;
  onClose: () => void;
}) {
  const { user_id, id, name, onClose } = props;
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => api.paymentDetails.deactivate(user_id, id),
    onSuccess: async () => {
      await Promise.all([
        queries.invalidateQueries({ queryKey: ["person", user_id] }),
        queries.invalidateQueries({ queryKey: ["bank-accounts"] }),
      ]);
      onClose();
    },
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title="Deactivate a bank account"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="sm">
        <Text size="sm">Nothing is paid any more to {name}. This cannot be taken back.</Text>
        {error && (
          <Alert color="red" variant="light" role="alert">
            {messageOf(error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" loading={isPending} onClick={() => mutate()}>
            Deactivate
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
