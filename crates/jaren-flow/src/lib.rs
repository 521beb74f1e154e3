//! The formats of jaren: machines, statecharts, dataflows and workflows, compiled and stepped purely.
