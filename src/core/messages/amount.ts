/** An amount in roubles with two decimals, as an English sentence writes it. */
export const rub = (roubles: number): string => roubles.toFixed(2)
