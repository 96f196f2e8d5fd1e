// A matrix of a model's weights.

/** A matrix as rows [out][in], with its bias; of a norm one row, of a table a row for each id. */
export interface Matrix {
  rows: number;
  width: number;
  /** [rows * width] */
  data: Float32Array;
  bias?: Float32Array;
}

export const cellOf = ({ data, width }: Matrix, row: number, column: number): number => data[row * width + column] as number;
