/** A slider with its name before it and its value behind it. */
interface SliderProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step?: number;
  /** what to show for the value (default: the number) */
  shown?: string;
  onChange(value: number): void;
}

export const Slider = ({ label, value, min, max, step = 1, shown = String(value), onChange }: SliderProps) => (
  <label class="slider">
    {label}
    <input
      type="range"
      min={min}
      max={max}
      step={step}
      value={value}
      aria-valuetext={shown}
      onInput={(event) => onChange(Number(event.currentTarget.value))}
    />
    <output>{shown}</output>
  </label>
);
