// In place of guide.ts on the edge, where no format gets this far: there is no module that reads one (host/embedded_edge.ts).
export {};
