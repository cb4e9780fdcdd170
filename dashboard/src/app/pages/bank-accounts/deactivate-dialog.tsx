import { Text } from "@mantine/core";
import { api } from "../../api.ts";
import { ActDialog } from "../../parts/act-dialog.tsx";

/** Asks before a bank account is closed for good. */
export function DeactivateDialog(props: {
  user_id: string;
  id: string;
  name: string;
  onClose: () => void;
}) {
  const { user_id, id, name, onClose } = props;
  return (
    <ActDialog
      title="Deactivate a bank account"
      act="Deactivate"
      is_dangerous
      send={() => api.paymentDetails.deactivate(user_id, id)}
      changes={["person", "bank-accounts"]}
      onClose={onClose}
    >
      <Text size="sm">Nothing is paid any more to {name}. This cannot be taken back.</Text>
    </ActDialog>
  );
}
