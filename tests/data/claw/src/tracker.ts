// Code of the workspace, not memory.
export const zenith = (altitude: number): number => 90 - altitude;
