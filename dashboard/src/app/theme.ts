import { createTheme, type MantineColorsTuple } from "@mantine/core";

const road: MantineColorsTuple = [
  "#eef4fc",
  "#d9e6f8",
  "#b0ccf0",
  "#84b0e8",
  "#5f98e1",
  "#4787dc",
  "#387edb",
  "#2a6cc3",
  "#1d5bb8",
  "#12489a",
];

/** The heading of a dialog is no landmark of the page; its close button has a name. */
const DIALOG = {
  attributes: { header: { role: "none" } },
  closeButtonProps: { "aria-label": "Close" },
};

/** A menu stands beside its button in the document, and contains nothing but its items. */
const MENU = { withinPortal: false, withInitialFocusPlaceholder: false };

/** Contrast: the default shades of the kit are too light for small text. */
export const theme = createTheme({
  colors: { road },
  primaryColor: "road",
  primaryShade: 8,
  autoContrast: true,
  luminanceThreshold: 0.18,
  defaultRadius: "md",
  fontFamily:
    'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  headings: { fontWeight: "600" },
  cursorType: "pointer",
  components: {
    Modal: { defaultProps: DIALOG },
    Drawer: { defaultProps: DIALOG },
    Menu: { defaultProps: MENU },
    // While a colour changes, small text has too little contrast.
    SegmentedControl: { defaultProps: { transitionDuration: 0 } },
  },
});
