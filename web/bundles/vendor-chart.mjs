// What a plot uses of other projects: a small library of charts, and its sheet.
import "uplot/dist/uPlot.min.css";
export { default as Chart } from "uplot";
